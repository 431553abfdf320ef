import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Packs the service as it would be published, and installs it into an empty directory, with what it depends on and
 * nothing else. Returns that directory. The build is the test command's.
 */
export async function installPackedService(): Promise<string> {
  if (!existsSync(join(ROOT, 'dist/src/main.js'))) throw new Error('run `npm run build` first');
  const directory = await mkdtemp(join(tmpdir(), 'latchkey-service-'));
  const modules = join(directory, 'node_modules');
  const target = join(modules, 'latchkey');
  await mkdir(target, { recursive: true });
  await run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', directory], { cwd: ROOT });
  await run('tar', ['-xzf', 'latchkey-0.1.0.tgz', '-C', target, '--strip-components=1'], { cwd: directory });
  const manifest = await readFile(join(target, 'package.json'), 'utf8');
  const { dependencies, optionalDependencies } = JSON.parse(manifest) as Record<string, object>;
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    if (!existsSync(join(ROOT, 'node_modules', name))) continue; // of another platform
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(join(ROOT, 'node_modules', name), join(modules, name));
  }
  return directory;
}

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const CLIENT = fileURLToPath(new URL('../../packages/client/', import.meta.url));

/**
 * Packs `@latchkey/client` as it would be published, and unpacks it; returns the package's directory. The build is the
 * test command's: tests that run side by side would build over each other.
 */
export async function packClient(): Promise<string> {
  if (!existsSync(join(CLIENT, 'dist/index.js'))) throw new Error('run `npm run build:client` first');
  const directory = await mkdtemp(join(tmpdir(), 'latchkey-client-'));
  await run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', directory], {
    cwd: CLIENT,
  });
  await run('tar', ['-xzf', 'latchkey-client-0.1.0.tgz'], { cwd: directory });
  return join(directory, 'package');
}

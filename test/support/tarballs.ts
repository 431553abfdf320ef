import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, rename, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client } from 'pg';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** What this repository packs: the service, and each folder of packages/. */
export const PACKED = ['latchkey', 'client', 'server', 'check-provider', 'embedded-postgres'] as const;
export type Packed = (typeof PACKED)[number];

/**
 * Packs a package as it would be published: once in a run, by the first spec that asks, while the others wait.
 * @returns the tarball's path
 */
export async function tarballOf(name: Packed): Promise<string> {
  const place = join(process.env['TEST_TARBALLS']!, name);
  const lock = new Client(`${process.env['TEST_DATABASE_SERVER']}postgres`);
  await lock.connect();
  try {
    await lock.query('SELECT pg_advisory_lock(hashtext($1))', [place]);
    if (!existsSync(place)) await pack(name, place);
  } finally {
    await lock.end();
  }
  const [file] = await readdir(place);
  return join(place, file!);
}

async function pack(name: Packed, place: string): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'latchkey-pack-'));
  try {
    const tarballs = join(directory, 'tarballs');
    await mkdir(tarballs);
    const args = ['pack', '--silent', '--pack-destination', tarballs];
    if (name === 'latchkey') await run('npm', [...args, '--ignore-scripts'], { cwd: builtService() });
    else await run('npm', args, { cwd: await cleanCheckout(name, directory) });
    await rename(tarballs, place);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The build is the test command's: specs that run side by side would build over each other. */
function builtService(): string {
  if (!existsSync(join(ROOT, 'dist/src/main.js'))) throw new Error('run `npm run build` first');
  return ROOT;
}

/** A copy in which nothing has been built: packing builds it. */
async function cleanCheckout(name: Packed, directory: string): Promise<string> {
  const checkout = join(directory, 'checkout');
  const source = join(checkout, 'packages', name);
  await cp(join(ROOT, 'packages', name), source, {
    recursive: true,
    filter: (path) => !['dist', 'test'].includes(basename(path)),
  });
  for (const file of ['tsconfig.json', 'package.json']) await cp(join(ROOT, file), join(checkout, file));
  await symlink(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
  return source;
}

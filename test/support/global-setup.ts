import { fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Starts PostgreSQL for the run in a separate process: Jest loads this file as CommonJS, which cannot import the sources.
 * That process ends, and removes the directory of the run, when Jest ends or is killed.
 */
export default async function globalSetup({ rootDir }: { rootDir: string }): Promise<void> {
  const directory = directoryInMemory() ?? mkdtempSync(join(tmpdir(), NAME));
  chmodSync(directory, 0o1777); // as /tmp: PostgreSQL runs as another account
  process.env['TMPDIR'] = directory; // inherited by the workers and their child processes
  const script = join(rootDir, 'test/support/test-server.ts');
  const server = fork(script, [directory], { cwd: rootDir, execArgv: ['--import', 'tsx'] });
  const [url] = (await Promise.race([once(server, 'message'), once(server, 'exit')])) as unknown[];
  if (typeof url !== 'string') throw new Error('the PostgreSQL of the tests did not start');
  server.unref();
  server.channel?.unref();
  process.env['TEST_DATABASE_SERVER'] = url;
}

const NAME = 'latchkey-tests-';
const MEMORY = '/dev/shm';
const REQUIRED_BYTES = 4 * 1024 ** 3; // a whole run needs a quarter of it

/**
 * Makes a directory in memory: the tests create and drop hundreds of databases, which a disk slows down.
 * @returns undefined without such a file system, or if it is small, read-only or mounted with `noexec`
 */
function directoryInMemory(): string | undefined {
  if (!existsSync(MEMORY)) return undefined;
  const { bavail, bsize } = statfsSync(MEMORY);
  if (bavail * bsize < REQUIRED_BYTES) return undefined;
  let directory: string;
  try {
    directory = mkdtempSync(join(MEMORY, NAME));
  } catch {
    return undefined;
  }
  const program = join(directory, 'program');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
  if (spawnSync(program).status === 0) return directory;
  rmSync(directory, { recursive: true });
  return undefined;
}

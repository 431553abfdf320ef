import { fork, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

declare global {
  /** Jest loads its setup and its teardown separately: they share only the global object. */
  var testServer: ChildProcess | undefined;
  var testDirectory: string | undefined;
}

/**
 * Starts the run's PostgreSQL, as a process of its own: Jest loads this file as CommonJS, outside of its ESM
 * environment, where the sources cannot be imported.
 */
export default async function globalSetup({ rootDir }: { rootDir: string }): Promise<void> {
  globalThis.testDirectory = directoryInMemory();
  if (globalThis.testDirectory) process.env['TMPDIR'] = globalThis.testDirectory; // workers, and what they start, inherit it
  const script = join(rootDir, 'test/support/test-server.ts');
  const server = fork(script, { cwd: rootDir, execArgv: ['--import', 'tsx'] });
  globalThis.testServer = server;
  const [url] = (await Promise.race([once(server, 'message'), once(server, 'exit')])) as unknown[];
  if (typeof url !== 'string') throw new Error('the PostgreSQL of the tests did not start');
  process.env['TEST_DATABASE_SERVER'] = url; // workers inherit it
  process.env['TEST_TARBALLS'] = mkdtempSync(join(tmpdir(), 'latchkey-tarballs-')); // see tarballs.ts
}

const MEMORY = '/dev/shm';
const NAME = /^latchkey-tests-(\d+)-/;
const ROOM = 4 * 1024 ** 3; // a whole run needs a quarter of it

/**
 * Makes a directory in memory: tests create and drop hundreds of databases, which a disk slows down.
 * @returns undefined without such a file system, or if it is small, not writable, or no program may be run from it
 */
export function directoryInMemory(): string | undefined {
  if (!existsSync(MEMORY)) return undefined;
  const { bavail, bsize } = statfsSync(MEMORY);
  if (bavail * bsize < ROOM) return undefined;
  for (const name of readdirSync(MEMORY)) {
    const [, pid] = NAME.exec(name) ?? []; // of a run that was killed
    if (pid && !existsSync(`/proc/${pid}`)) remove(join(MEMORY, name));
  }
  let directory: string;
  try {
    directory = mkdtempSync(join(MEMORY, `latchkey-tests-${process.pid}-`));
  } catch {
    return undefined;
  }
  chmodSync(directory, 0o1777); // as /tmp: PostgreSQL runs as an account of its own
  const program = join(directory, 'program');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
  if (spawnSync(program).status === 0) return directory;
  rmSync(directory, { recursive: true });
  return undefined;
}

/** Leaves a directory of another account in place: only that account may remove it. */
function remove(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch (error) {
    if (!['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code!)) throw error;
  }
}

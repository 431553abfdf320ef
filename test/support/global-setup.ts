import { fork, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
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
const NAME = /^latchkey-tests-(\d+)$/;
const ROOM = 4 * 1024 ** 3; // a whole run needs a quarter of it

/**
 * Databases are made and dropped by the hundred, and a disk is what they wait for. On Linux there is one in memory.
 * @returns a directory there; undefined where there is none, it is small, or nothing can be run from it
 */
function directoryInMemory(): string | undefined {
  if (!existsSync(MEMORY)) return undefined;
  const { bavail, bsize } = statfsSync(MEMORY);
  if (bavail * bsize < ROOM) return undefined;
  for (const name of readdirSync(MEMORY)) {
    const [, pid] = NAME.exec(name) ?? []; // of a run that was killed
    if (pid && !existsSync(`/proc/${pid}`)) rmSync(join(MEMORY, name), { recursive: true, force: true });
  }
  const directory = join(MEMORY, `latchkey-tests-${process.pid}`);
  mkdirSync(directory, { recursive: true });
  chmodSync(directory, 0o1777); // as /tmp: PostgreSQL runs as an account of its own
  const program = join(directory, 'program');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
  if (spawnSync(program).status === 0) return directory;
  rmSync(directory, { recursive: true });
  return undefined;
}

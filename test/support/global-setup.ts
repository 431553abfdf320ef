import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

declare global {
  /** Jest loads its setup and its teardown separately: they share only the global object. */
  var testServer: ChildProcess | undefined;
}

/**
 * Starts the run's PostgreSQL, as a process of its own: Jest loads this file as CommonJS, outside of its ESM
 * environment, where the sources cannot be imported.
 */
export default async function globalSetup({ rootDir }: { rootDir: string }): Promise<void> {
  const script = join(rootDir, 'test/support/test-server.ts');
  const server = fork(script, { cwd: rootDir, execArgv: ['--import', 'tsx'] });
  globalThis.testServer = server;
  const [url] = (await Promise.race([once(server, 'message'), once(server, 'exit')])) as unknown[];
  if (typeof url !== 'string') throw new Error('the PostgreSQL of the tests did not start');
  process.env['TEST_DATABASE_SERVER'] = url; // workers inherit it
  process.env['TEST_TARBALLS'] = mkdtempSync(join(tmpdir(), 'latchkey-tarballs-')); // see tarballs.ts
}

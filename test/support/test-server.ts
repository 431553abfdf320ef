import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startTemporaryPostgres } from '../../packages/embedded-postgres/src/temporary-postgres.js';

const directory = process.argv[2]!; // of the run: see global-setup.ts

// Fast instead of durable: crash tests start their own PostgreSQL.
const FAST = ['fsync=off', 'full_page_writes=off', 'synchronous_commit=off'];
const SETTINGS = [...FAST, 'max_connections=300', 'track_activity_query_size=16kB']; // `waiting` reads whole statements

// They reach Jest as well; this process waits for Jest's end.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);

const server = await startTemporaryPostgres({
  dataDir: mkdtempSync(join(directory, 'postgres-')),
  settings: SETTINGS,
  initdb: ['--no-sync', '--auth=password', '--set=scram_iterations=1'], // a connection in 6 ms of CPU time, not 8
});

process.once('disconnect', () => void end());
process.send?.(server.url);

async function end(): Promise<void> {
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
}

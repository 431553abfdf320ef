import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTemporaryPostgres } from '../../packages/embedded-postgres/src/temporary-postgres.js';

// One PostgreSQL for a whole run of Jest, fast instead of durable: crash tests start their own.
const SETTINGS = ['fsync=off', 'full_page_writes=off', 'synchronous_commit=off', 'max_connections=300'];

process.on('SIGINT', () => undefined); // Ctrl-C reaches Jest as well; this process waits for Jest's end

const server = await startTemporaryPostgres({
  dataDir: mkdtempSync(join(tmpdir(), 'latchkey-test-')),
  settings: SETTINGS,
  initdb: ['--no-sync'],
});

process.once('disconnect', () => void server.stop()); // at Jest's teardown, or when Jest dies: nothing is left behind
process.send?.(server.url);

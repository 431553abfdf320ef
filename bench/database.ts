import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startTemporaryPostgres } from '../packages/embedded-postgres/src/temporary-postgres.js';
import type { Cleanup } from './cleanup.js';

const SETTINGS = [
  // What was acknowledged survives a crash: the defaults, named here because the numbers depend on them.
  'fsync=on',
  'synchronous_commit=on',
  'full_page_writes=on',
  // Housekeeping happens between the turns (turn.ts), so that it falls into nobody's.
  'autovacuum=off',
  'checkpoint_timeout=1h',
  'max_wal_size=2GB',
  'shared_buffers=256MB',
];

export interface Database {
  readonly url: string;
  /** Of the postmaster, whose children are the backends. */
  readonly pid: number;
}

/**
 * Starts a PostgreSQL for this run alone, with full durability. Its files lie in the project's `data/`:
 * a temporary directory may be in memory, where syncing costs nothing.
 */
export async function startDatabase(cleanup: Cleanup): Promise<Database> {
  mkdirSync('data', { recursive: true });
  const dataDir = mkdtempSync(join('data', 'bench-'));
  cleanup.add(() => rmSync(dataDir, { recursive: true, force: true }));
  const server = await startTemporaryPostgres({ dataDir, settings: SETTINGS });
  cleanup.add(() => server.stop());
  return { url: `${server.url}postgres`, pid: server.pid };
}

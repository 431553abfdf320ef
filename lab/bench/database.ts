import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { startTemporaryPostgres } from '../../packages/embedded-postgres/src/temporary-postgres.js';
import type { Cleanup } from './cleanup.js';

const SETTINGS = [
  // Acknowledged writes survive a crash: these are the defaults, named here because the figures depend on them.
  'fsync=on',
  'synchronous_commit=on',
  'full_page_writes=on',
  // Maintenance happens between the turns (turn.ts), so that no target pays for it.
  'autovacuum=off',
  'checkpoint_timeout=1h',
  'max_wal_size=2GB',
  'shared_buffers=256MB',
];

/** Of a long run: its tables grow. */
export const WITH_MAINTENANCE = SETTINGS.filter((one) => !one.startsWith('autovacuum'));

export interface Database {
  readonly url: string;
  /** As superuser. */
  readonly admin: Client;
  /** The postmaster's process; its children are the backends. */
  readonly pid: number;
}

/**
 * Starts a PostgreSQL for this run alone, with full durability. Its files are in the project's `data/`:
 * a temporary directory may be in memory, where syncing costs nothing.
 */
export async function startDatabase(cleanup: Cleanup, settings = SETTINGS): Promise<Database> {
  mkdirSync('data', { recursive: true });
  const dataDir = mkdtempSync(join('data', 'bench-'));
  cleanup.add(() => rmSync(dataDir, { recursive: true, force: true }));
  const starting = startTemporaryPostgres({ dataDir, settings });
  // Also while it starts: what it writes would come after the removal.
  cleanup.add(async () => (await starting.catch(() => undefined))?.stop());
  const server = await starting;
  const url = `${server.url}postgres`;
  const admin = new Client(url);
  await admin.connect();
  cleanup.add(() => admin.end());
  return { url, admin, pid: server.pid };
}

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { postgresBinaries } from '../packages/embedded-postgres/src/binaries.js';
import { clusterDirectory } from '../packages/embedded-postgres/src/cluster-directory.js';
import { ensureCluster, SUPERUSER } from '../packages/embedded-postgres/src/cluster.js';
import { freePort } from '../packages/embedded-postgres/src/free-port.js';
import { startServer } from '../packages/embedded-postgres/src/server.js';
import { sharedPlace } from '../packages/embedded-postgres/src/shared-place.js';
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
  const { path, account } = clusterDirectory(dataDir, () => undefined);
  cleanup.add(() => rmSync(dirname(path), { recursive: true, force: true }));

  const binaries = postgresBinaries(account, () => (account ? sharedPlace('programs') : dataDir));
  const password = ensureCluster(path, { binaries, account });
  const port = await freePort();
  const server = await startServer({ binaries, account, path, port, settings: SETTINGS });
  cleanup.add(() => server.stop());
  return { url: `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/postgres`, pid: server.pid };
}

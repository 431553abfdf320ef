import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import type { Settings } from '../config/settings.js';
import { dataSourceOptions } from '../database/data-source.js';
import { postgresBinaries } from '../database/embedded/binaries.js';
import { clusterDirectory } from '../database/embedded/cluster-directory.js';
import { ensureCluster } from '../database/embedded/cluster.js';
import { startEmbeddedPostgres } from '../database/embedded/embedded-postgres.js';
import { isAlive, mayBePostmaster, readPostmaster } from '../database/embedded/postmaster.js';
import { provision } from '../database/embedded/provision.js';
import { sharedPlace } from '../database/embedded/shared-place.js';

const QUIET = (): void => undefined;

export interface OpenDatabase {
  readonly dataSource: DataSource;
  close(): Promise<void>;
}

/**
 * Connects to the database of the service: to `DATABASE_URL`, or to the embedded one, which is started for the moment
 * unless the service runs and has done so.
 */
export async function openDatabase(settings: Settings): Promise<OpenDatabase> {
  const { url, stop } = await locate(settings);
  try {
    const dataSource = await new DataSource(dataSourceOptions(url, 1)).initialize();
    return {
      dataSource,
      async close() {
        await dataSource.destroy();
        await stop?.();
      },
    };
  } catch (error) {
    await stop?.();
    throw error;
  }
}

async function locate({
  databaseUrl,
  dataDir,
}: Settings): Promise<{ url: string; stop?: () => Promise<void> }> {
  if (databaseUrl) return { url: databaseUrl };
  if (!existsSync(join(dataDir, 'postgres'))) {
    throw new Error(
      `There is no database in ${dataDir}: start the service once, or set DATABASE_URL or DATA_DIR.`,
    );
  }
  const url = await runningDatabase(dataDir);
  return url ? { url } : startEmbeddedPostgres({ dataDir, log: QUIET });
}

/** The URL of the embedded database that a running service has started; undefined: none runs. */
async function runningDatabase(dataDir: string): Promise<string | undefined> {
  const { path, account } = clusterDirectory(dataDir, QUIET);
  const running = readPostmaster(path);
  if (!running?.port || !isAlive(running.pid) || !mayBePostmaster(running.pid, path)) return undefined;
  const binaries = postgresBinaries(account, () => (account ? sharedPlace('programs') : dataDir));
  return provision(running.port, ensureCluster(path, { binaries, account })); // the cluster is there: its password
}

import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { postgresBinaries } from './binaries.js';
import { clusterDirectory } from './cluster-directory.js';
import { ensureCluster, removeOwned, SUPERUSER } from './cluster.js';
import { freePort } from './address.js';
import { startServer } from './server.js';
import { sharedPlace } from './system-account.js';

export interface TemporaryPostgresOptions {
  /** A new directory for the data; `stop` removes it. */
  readonly dataDir: string;
  /** PostgreSQL's settings, `name=value`; its defaults are durable. */
  readonly settings?: readonly string[];
  /** Further arguments for `initdb`. */
  readonly initdb?: readonly string[];
}

export interface TemporaryPostgres {
  /** The superuser's URL, on loopback, without a database: ends in a slash. */
  readonly url: string;
  /** The postmaster's process; its children are the backends. */
  readonly pid: number;
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

/** Starts a PostgreSQL for tests and measurements; `stop` removes its data. */
export async function startTemporaryPostgres(options: TemporaryPostgresOptions): Promise<TemporaryPostgres> {
  const { dataDir, settings = [], initdb = [] } = options;
  const { path, account } = clusterDirectory(dataDir, () => undefined);
  const remove = (): void => {
    removeOwned(path, account);
    for (const directory of [dataDir, dirname(path)]) rmSync(directory, { recursive: true, force: true });
  };
  try {
    const binaries = postgresBinaries(account, () => (account ? sharedPlace('programs') : dataDir));
    const password = ensureCluster(path, { binaries, account, options: initdb });
    const port = await freePort();
    const server = await startServer({ binaries, account, path, port, settings });
    return {
      url: `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/`,
      pid: server.pid,
      async stop() {
        await server.stop();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

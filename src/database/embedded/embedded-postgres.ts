import { errorMessage } from '../error-facts.js';
import { postgresBinaries } from './binaries.js';
import { clusterDirectory, pointTo } from './cluster-directory.js';
import { ensureCluster } from './cluster.js';
import { provision } from './provision.js';
import { sharedPlace } from './shared-place.js';
import { Supervisor } from './supervisor.js';

export interface EmbeddedPostgresOptions {
  /** Where the data live; made if it is not there. */
  readonly dataDir: string;
  /** Receives what an operator should know, a line each, never a secret. */
  readonly log: (line: string) => void;
}

export interface EmbeddedPostgres {
  /** Connection URL of the service's database, with the password: a secret. */
  readonly url: string;
  /** Stops the server; resolves when no process of it is left. */
  stop(): Promise<void>;
}

/**
 * Starts a real PostgreSQL that belongs to this process (contract §2, `DATABASE_URL` unset): on loopback only, with a
 * generated password, fully durable, and as an unprivileged account where the service runs as root.
 *
 * @throws with what to do about it, when it cannot run here or another running service owns `dataDir`
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  try {
    return await start(options);
  } catch (error) {
    const message = `embedded PostgreSQL did not start: ${errorMessage(error)}`;
    throw new Error(`${message}. To use a PostgreSQL of your own, set DATABASE_URL.`, { cause: error });
  }
}

async function start({ dataDir, log }: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { path, account } = clusterDirectory(dataDir, log);
  const binaries = postgresBinaries(account, () => (account ? sharedPlace('programs') : dataDir));
  const password = ensureCluster(path, { binaries, account });
  pointTo(path, dataDir);
  const supervisor = new Supervisor({ path, password, account, binaries }, log);
  const port = await supervisor.start();
  try {
    return { url: await provision(port, password), stop: () => supervisor.stop() };
  } catch (error) {
    await supervisor.stop();
    throw error;
  }
}

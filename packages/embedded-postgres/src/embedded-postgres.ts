import { errorMessage } from './error-facts.js';
import { WITHOUT_ENVIRONMENT, type Address } from './address.js';
import { postgresBinaries } from './binaries.js';
import { clusterDirectory, pointTo } from './cluster-directory.js';
import { ensureCluster, readPassword } from './cluster.js';
import { isAlive, mayBePostmaster, readPostmaster } from './postmaster.js';
import { provision, SERVICE } from './provision.js';
import { sharedPlace } from './shared-place.js';
import { Supervisor } from './supervisor.js';

export interface EmbeddedPostgresOptions {
  /** Where the data live; made if it is not there. */
  readonly dataDir: string;
  /** Receives lines that an operator should see; never a secret. */
  readonly log: (line: string) => void;
  /** Where the socket's private directory may be, the best place first. Default: the usual places for such directories. */
  readonly socketPlaces?: readonly string[];
}

export interface EmbeddedPostgres {
  /** Connection URL of the service's database, with the password: a secret. */
  readonly url: string;
  /** Stops the server; resolves when no process of it is left. */
  stop(): Promise<void>;
}

/**
 * Starts a real PostgreSQL that belongs to this process (contract §2, `DATABASE_URL` unset): on a Unix socket in a
 * private directory (on loopback where that is not possible), with a generated password, fully durable, and under an
 * unprivileged account where the service runs as root. The URL it returns is not a superuser's.
 *
 * @throws an error that says what to do, when it cannot run here or another running service owns `dataDir`
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  try {
    return await start(options);
  } catch (error) {
    const message = `embedded PostgreSQL did not start: ${errorMessage(error)}`;
    throw new Error(`${message}. To use a PostgreSQL of your own, set DATABASE_URL.`, { cause: error });
  }
}

async function start({ dataDir, log, socketPlaces }: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { path, account } = clusterDirectory(dataDir, log);
  const binaries = postgresBinaries(account, () => (account ? sharedPlace('programs') : dataDir));
  const password = ensureCluster(path, {
    binaries,
    account,
    prepare: (unfinished, secret) => provision({ path: unfinished, account, binaries }, secret),
  });
  pointTo(path, dataDir);
  const supervisor = new Supervisor({ path, password, account, binaries, socketPlaces }, log);
  const address = await supervisor.start();
  return { url: urlOf(address, password), stop: () => supervisor.stop() };
}

/** The URL of the embedded database that a running service has started for `dataDir`; undefined when none runs. */
export function runningEmbeddedPostgres(dataDir: string): string | undefined {
  const { path } = clusterDirectory(dataDir, () => undefined);
  const running = readPostmaster(path);
  if (!running?.address || !isAlive(running.pid) || !mayBePostmaster(running.pid, path)) return undefined;
  return urlOf(running.address, readPassword(path));
}

function urlOf({ host, port }: Address, password: string): string {
  const parameters = Object.entries(WITHOUT_ENVIRONMENT).map(
    ([name, value]) => `${name}=${encodeURIComponent(value)}`,
  );
  return `postgres://${SERVICE}:${password}@${encodeURIComponent(host)}:${port}/${SERVICE}?${parameters.join('&')}`;
}

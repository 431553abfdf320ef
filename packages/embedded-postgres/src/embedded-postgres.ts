import { errorMessage } from './own-file.js';
import { socketIn, WITHOUT_ENVIRONMENT, type Address } from './address.js';
import { postgresBinaries } from './binaries.js';
import { clusterDirectory, pointTo } from './cluster-directory.js';
import { ensureCluster, readPassword } from './cluster.js';
import { isAlive, mayBePostmaster, readPostmaster } from './postmaster.js';
import { provision, SERVICE } from './provision.js';
import { hasSocket } from './socket-directory.js';
import { sharedPlace } from './system-account.js';
import { Supervisor } from './supervisor.js';

export interface EmbeddedPostgresOptions {
  /** Directory of the data; made if it is missing. */
  readonly dataDir: string;
  /** Receives lines for the operator, without secrets. */
  readonly log: (line: string) => void;
  /** Parents of the socket's private directory, best first; by default /run and the directories of temporary files. */
  readonly socketPlaces?: readonly string[];
}

export interface EmbeddedPostgres {
  /** Connection URL with the password: a secret. */
  readonly url: string;
  /** Stops the server; resolves after its last process. */
  stop(): Promise<void>;
}

/**
 * Starts a PostgreSQL that belongs to this process (docs/database.md#embedded-database): on a Unix socket in
 * a private directory (or else on loopback), with a generated password, durable, and with an unprivileged
 * account if the service runs as root.
 *
 * @returns the URL of a role that is not a superuser
 * @throws an error with advice if it cannot run here, or if another running service owns `dataDir`
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
    prepare: (unfinished, secret, programs) =>
      provision({ path: unfinished, account, binaries: programs }, secret),
  });
  pointTo(path, dataDir);
  const supervisor = new Supervisor({ path, password, account, binaries, socketPlaces }, log);
  const address = await supervisor.start();
  return { url: urlOf(address, password), stop: () => supervisor.stop() };
}

/** Returns the URL of the database that a running service has started for `dataDir`, or undefined. */
export function runningEmbeddedPostgres(dataDir: string): string | undefined {
  const { path } = clusterDirectory(dataDir, () => undefined);
  const running = readPostmaster(path);
  if (!running?.address || !isAlive(running.pid) || !mayBePostmaster(running.pid, path)) return undefined;
  return urlOf(hasSocket(path) ? socketIn(path) : running.address, readPassword(path));
}

function urlOf({ host, port }: Address, password: string): string {
  const parameters = Object.entries(WITHOUT_ENVIRONMENT).map(
    ([name, value]) => `${name}=${encodeURIComponent(value)}`,
  );
  return `postgres://${SERVICE}:${password}@${encodeURIComponent(host)}:${port}/${SERVICE}?${parameters.join('&')}`;
}

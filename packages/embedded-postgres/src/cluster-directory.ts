import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, realpathSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { changeMode } from './own-file.js';
import { ACCOUNT, canEnter, postgresAccount, sharedPlace, type SystemAccount } from './system-account.js';

export interface ClusterDirectory {
  /** Absolute, without symbolic links; may not exist yet. */
  readonly path: string;
  readonly account: SystemAccount | undefined;
}

/** PostgreSQL's MAXPGPATH is 1024, and initdb appends names to the path. */
const MAX_PATH_BYTES = 900;

/**
 * Chooses the directory of the cluster: `<dataDir>/postgres`, or, if PostgreSQL's account cannot enter it, a shared place that
 * `<dataDir>/postgres` links to. Later starts follow the link, so that the data do not move.
 *
 * @throws a sentence if PostgreSQL cannot use the path, or if it belongs to another account
 */
export function clusterDirectory(dataDir: string, log: (line: string) => void): ClusterDirectory {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const nominal = join(realpathSync(dataDir), 'postgres');
  refuseForPostgres(nominal);
  const account = postgresAccount(log);
  const path = placeOf(nominal, account, log);
  refuseForeign(path, account);
  return { path, account };
}

/** Makes the link that `clusterDirectory` follows, after the cluster. */
export function pointTo(path: string, dataDir: string): void {
  const nominal = join(realpathSync(dataDir), 'postgres');
  if (lstatSync(nominal, { throwIfNoEntry: false })) return;
  symlinkSync(path, nominal);
}

function placeOf(nominal: string, account: SystemAccount | undefined, log: (line: string) => void): string {
  const found = lstatSync(nominal, { throwIfNoEntry: false });
  if (found?.isSymbolicLink()) {
    if (found.uid !== 0 && found.uid !== process.getuid?.()) {
      throw new Error(`${nominal} is a link that the user id ${found.uid} has made: remove it`);
    }
    if (!statSync(nominal, { throwIfNoEntry: false })) {
      throw new Error(`${nominal} points to a database that is not there`);
    }
    return realpathSync(nominal);
  }
  if (!account || found || madeEnterable(account, dirname(nominal))) return nominal;
  const path = join(sharedPlace(createHash('sha256').update(nominal).digest('hex').slice(0, 16)), 'postgres');
  log(`embedded PostgreSQL: ${ACCOUNT} may not enter ${dirname(nominal)}, so the data live in ${path}`);
  return path;
}

/** initdb refuses a line break and cuts off a long path, without advice. */
function refuseForPostgres(path: string): void {
  if (!/[\r\n]/.test(path) && Buffer.byteLength(path) <= MAX_PATH_BYTES) return;
  const shown = JSON.stringify(dirname(path).slice(0, 200));
  throw new Error(
    `PostgreSQL cannot use the directory ${shown}: choose a DATA_DIR whose path has no line break and at most ${MAX_PATH_BYTES} bytes`,
  );
}

/** The owner of a directory can replace its content, and PostgreSQL refuses data of another account. */
function refuseForeign(path: string, account: SystemAccount | undefined): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) return;
  if (!found.isDirectory()) throw new Error(`${path} is not a directory: remove it`);
  if (process.platform === 'win32' || found.uid === (account?.uid ?? process.getuid?.())) return;
  const start = `${path} belongs to the account with the user id ${found.uid}`;
  if (!account) throw new Error(`${start}: use the account that runs the service (root for ${ACCOUNT})`);
  const chown = `chown -R ${ACCOUNT}: '${path.replaceAll("'", String.raw`'\''`)}'`;
  throw new Error(
    `${start}, not to ${ACCOUNT}: use that account, or, for a service that root will run from now on, run ${chown}`,
  );
}

/** Opens `dataDir` to other accounts (0711), if it is the service's: its content is closed. */
function madeEnterable(account: SystemAccount, dataDir: string): boolean {
  if (canEnter(account, dataDir)) return true;
  if (!canEnter(account, dirname(dataDir))) return false;
  return changeMode(dataDir, process.getuid?.(), (mode) => mode | 0o011) && canEnter(account, dataDir);
}

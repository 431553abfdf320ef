import { createHash } from 'node:crypto';
import { chmodSync, lstatSync, mkdirSync, realpathSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { postgresAccount, type SystemAccount } from './system-account.js';
import { canEnter, sharedPlace } from './shared-place.js';

export interface ClusterDirectory {
  /** Absolute, free of symbolic links; it exists once the cluster has been made. */
  readonly path: string;
  readonly account: SystemAccount | undefined;
}

/**
 * Decides where the database cluster of `dataDir` lives: in `<dataDir>/postgres`, or, where the account that runs
 * PostgreSQL cannot reach it, in a shared place that `<dataDir>/postgres` then links to. Later starts follow the link, so
 * the data do not seem to be lost when `dataDir` becomes reachable afterwards.
 */
export function clusterDirectory(dataDir: string, log: (line: string) => void): ClusterDirectory {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const nominal = join(realpathSync(dataDir), 'postgres');
  const link = lstatSync(nominal, { throwIfNoEntry: false });
  if (link?.isSymbolicLink()) {
    if (!statSync(nominal, { throwIfNoEntry: false })) {
      throw new Error(`${nominal} points to a database that is not there`);
    }
    const path = realpathSync(nominal);
    return { path, account: postgresAccount(path) };
  }

  const account = postgresAccount(nominal);
  if (!account || link || madeEnterable(account, dirname(nominal))) return { path: nominal, account };
  const path = join(sharedPlace(createHash('sha256').update(nominal).digest('hex').slice(0, 16)), 'postgres');
  log(`embedded PostgreSQL: only root may enter ${dirname(nominal)}, so the data live in ${path}`);
  return { path, account };
}

/** Makes the link that `clusterDirectory` follows, once the cluster is there. */
export function pointTo(path: string, dataDir: string): void {
  const nominal = join(realpathSync(dataDir), 'postgres');
  if (lstatSync(nominal, { throwIfNoEntry: false })) return;
  symlinkSync(path, nominal);
}

/** `dataDir` itself is ours: others may be let through it (0711), since its contents are closed by their own modes. */
function madeEnterable(account: SystemAccount, dataDir: string): boolean {
  if (canEnter(account, dataDir)) return true;
  if (!canEnter(account, dirname(dataDir))) return false;
  chmodSync(dataDir, statSync(dataDir).mode | 0o011);
  return canEnter(account, dataDir);
}

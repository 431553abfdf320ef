import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';

/** The operating system's account that runs PostgreSQL, in the form that `spawn` takes. */
export interface SystemAccount {
  readonly uid: number;
  readonly gid: number;
}

/**
 * PostgreSQL refuses to run as root. Where the service runs as root, PostgreSQL runs as the account that already owns its
 * data, else as `nobody`, which every Linux has (so no `useradd` is needed). Otherwise undefined: the service's own account.
 *
 * @param clusterDir where the data are, or will be
 */
export function postgresAccount(clusterDir: string): SystemAccount | undefined {
  const self = process.getuid?.();
  if (self === undefined) return undefined; // Windows
  const owner = statSync(clusterDir, { throwIfNoEntry: false });
  if (self !== 0) {
    if (owner && owner.uid !== self) {
      throw new Error(
        `${clusterDir} belongs to the account with the user id ${owner.uid}: start the service as that one`,
      );
    }
    return undefined;
  }
  if (process.platform !== 'linux') {
    throw new Error('PostgreSQL does not run as root: start the service as an ordinary user');
  }
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  return { uid: idOfNobody('-u'), gid: idOfNobody('-g') };
}

function idOfNobody(which: '-u' | '-g'): number {
  const { stdout } = spawnSync('id', [which, 'nobody'], { encoding: 'utf8' });
  const id = Number.parseInt(stdout ?? '', 10);
  if (!Number.isInteger(id) || id === 0) {
    throw new Error('PostgreSQL does not run as root, and there is no account `nobody` that it could run as');
  }
  return id;
}

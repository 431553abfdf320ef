import { existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from './error-facts.js';

// Inside the cluster: an account that may read it may read the data anyway, and neither can be lost without the other. Its
// name says whose password it is: the superuser's (and, in clusters of 0.1.0, the service's too), or the service's alone.
const OF_SUPERUSER = 'latchkey-password';
const OF_SERVICE = 'service-password';

/** The file for a new cluster's password, which is the superuser's at first. */
export function newPasswordFile(path: string): string {
  return join(path, OF_SUPERUSER);
}

/** The service's password in the cluster at `path`; while `isOfSuperuser`, the superuser's. */
export function readPassword(path: string): string {
  try {
    return readFileSync(join(path, OF_SUPERUSER), 'utf8');
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    return readFileSync(join(path, OF_SERVICE), 'utf8'); // in this order: another start may be renaming it
  }
}

/** Whether the superuser of the cluster at `path` may still have the password. */
export function isOfSuperuser(path: string): boolean {
  return existsSync(join(path, OF_SUPERUSER));
}

/** Records that the password is now the service's alone. */
export function giveToService(path: string): void {
  renameSync(join(path, OF_SUPERUSER), join(path, OF_SERVICE));
}

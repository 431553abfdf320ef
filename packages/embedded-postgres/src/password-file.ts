import { existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from './error-facts.js';

// Inside the cluster: whoever may read it may read the data anyway, and the two cannot be lost apart. Its name says
// whose password it is: of the superuser and, in clusters of 0.1.0, of the service as well; or of the service alone.
const OF_SUPERUSER = 'latchkey-password';
const OF_SERVICE = 'service-password';

/** Where a new cluster's password belongs, which is its superuser's at first. */
export function newPasswordFile(path: string): string {
  return join(path, OF_SUPERUSER);
}

/** The password of the service in the cluster at `path`; of the superuser while `isOfSuperuser`. */
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

/** Notes that it is the service's alone by now. */
export function giveToService(path: string): void {
  renameSync(join(path, OF_SUPERUSER), join(path, OF_SERVICE));
}

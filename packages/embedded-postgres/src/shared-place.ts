import { spawnSync } from 'node:child_process';
import { lstatSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { SystemAccount } from './system-account.js';

const SHARED_PLACE = '/var/lib/latchkey';

/**
 * Makes and returns `/var/lib/latchkey/<name>`: here root puts the files that PostgreSQL's account must reach, when the
 * directory meant for them is below one that only root may enter (a root home of mode 0700).
 */
export function sharedPlace(name: string): string {
  const place = join(SHARED_PLACE, name);
  for (const path of [SHARED_PLACE, place]) {
    mkdirSync(path, { recursive: true, mode: 0o711 }); // others may pass through, but not list it
    const found = lstatSync(path);
    if (!found.isDirectory() || found.uid !== 0 || found.mode & 0o022) {
      throw new Error(`${path} is not a directory that belongs to root, and that only root may change`);
    }
  }
  return place;
}

/** Whether `account` may enter a directory, judged by the kernel, so that ACLs count too. */
export function canEnter(account: SystemAccount, directory: string): boolean {
  const options = { ...account, cwd: '/', env: {} }; // the account must not read the service's secrets
  return spawnSync('/bin/sh', ['-c', 'cd -- "$1"', 'sh', directory], options).status === 0;
}

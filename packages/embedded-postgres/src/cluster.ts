import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { lstatSync, readdirSync, renameSync, rmdirSync, rmSync, statSync, unlinkSync } from 'node:fs';
import type { Dirent } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { SystemAccount } from './system-account.js';
import type { Binaries } from './binaries.js';
import { changeMode, errorCode, makeDirectoryFor, makeFileFor, readOwnFile, replaced } from './own-file.js';
import { withInitdb } from './initdb.js';
import { isAlive } from './postmaster.js';

/** The cluster's administrator; the service has another role (provision.ts). */
export const SUPERUSER = 'postgres';

// In the cluster, because an account that may read it may read the data anyway.
const PASSWORD_FILE = 'service-password';

// Independent of the machine's locale. Every connection needs the password.
const SAME_EVERYWHERE = [
  '--encoding=UTF8',
  '--no-locale',
  '--set=timezone=UTC',
  '--set=log_timezone=UTC',
  '--auth=scram-sha-256',
];

export interface NewCluster {
  readonly binaries: Binaries;
  readonly account: SystemAccount | undefined;
  /** Further arguments for `initdb`. */
  readonly options?: readonly string[];
  /** Completes the new cluster at `path` before it is renamed; its superuser has the password. */
  readonly prepare?: (path: string, password: string, programs: Binaries) => void;
}

/**
 * Makes the cluster at `path` if it does not exist. It appears at once, by renaming, so that a killed start leaves no partial
 * database.
 *
 * @returns the password, which is kept in a file of mode 0600 and never passed as an argument
 */
export function ensureCluster(path: string, cluster: NewCluster): string {
  if (!lstatSync(path, { throwIfNoEntry: false })) {
    removeUnfinished(path, cluster.account);
    try {
      make(path, cluster);
    } catch (error) {
      removeUnfinished(path, cluster.account);
      throw error;
    }
  }
  // A restored backup may have other modes, which PostgreSQL would use for new files.
  if (process.platform !== 'win32') changeMode(path, cluster.account?.uid, () => 0o700);
  return readPassword(path);
}

/** The password of the service in the cluster at `path`. */
export function readPassword(path: string): string {
  return readOwnFile(join(path, PASSWORD_FILE));
}

/**
 * Refuses named pipes and devices in the cluster: PostgreSQL would hang if it opened a pipe in place of `pg_hba.conf`.
 * @throws a sentence with the path
 */
export function refuseSpecialFiles(path: string): void {
  for (const entry of entriesBelow(path)) {
    const name = join(entry.parentPath, entry.name);
    const found = entry.isSymbolicLink() ? statSync(name, { throwIfNoEntry: false }) : entry;
    if (found && !found.isFile() && !found.isDirectory()) throw replaced(name);
  }
}

function entriesBelow(path: string): Dirent[] {
  try {
    return readdirSync(path, { recursive: true, withFileTypes: true });
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return []; // a killed server's last process removes temporary files
    throw error;
  }
}

/** Times that a removal is repeated: `initdb` of a killed start may write a moment longer. */
const TRIES = 50;
const PAUSE_MS = 20;

/** Removes a directory of PostgreSQL's account, or a file. */
export function removeOwned(path: string, account: SystemAccount | undefined): void {
  for (let left = TRIES; ; left--) {
    try {
      return removeOnce(path, account);
    } catch (error) {
      if (errorCode(error) !== 'ENOTEMPTY' || left === 0) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS); // this code is synchronous
    }
  }
}

function removeOnce(path: string, account: SystemAccount | undefined): void {
  // Runs as that account, which may replace a directory by a link. It may not remove `path` itself.
  if (account) spawnSync('rm', ['-rf', '--', path], { ...account, cwd: '/', env: {} });
  // Node 26: if another process removes a file meanwhile, it says nothing, and leaves the rest.
  else rmSync(path, { recursive: true, force: true });
  const left = lstatSync(path, { throwIfNoEntry: false });
  if (left?.isDirectory()) rmdirSync(path);
  else if (left) unlinkSync(path);
}

function make(path: string, { binaries, account, options = [], prepare }: NewCluster): void {
  const unfinished = `${path}.new-${process.pid}`;
  const passwordFile = `${unfinished}.password`;
  const password = randomBytes(24).toString('base64url');
  makeDirectoryFor(account, unfinished);
  makeFileFor(account, passwordFile, password);
  const args = [
    '-D',
    unfinished,
    '-U',
    SUPERUSER,
    `--pwfile=${passwordFile}`,
    ...SAME_EVERYWHERE,
    ...options,
  ];
  withInitdb(binaries, account, (programs) => {
    const initdb = spawnSync(programs.initdb, args, { ...account, cwd: '/', env: {}, encoding: 'utf8' });
    if (initdb.status !== 0)
      throw new Error(`initdb failed: ${initdb.error?.message ?? initdb.stderr.trim()}`);
    prepare?.(unfinished, password, programs);
  });
  renameSync(passwordFile, join(unfinished, PASSWORD_FILE));
  try {
    renameSync(unfinished, path);
  } catch (error) {
    removeOwned(unfinished, account);
    if (!lstatSync(path, { throwIfNoEntry: false })) throw error; // another start was faster
  }
}

/** Removes unfinished clusters of dead processes. */
function removeUnfinished(path: string, account: SystemAccount | undefined): void {
  const prefix = `${basename(path)}.new-`;
  for (const name of readdirSync(dirname(path))) {
    if (!name.startsWith(prefix)) continue;
    const pid = Number.parseInt(name.slice(prefix.length), 10);
    if (pid === process.pid || !isAlive(pid)) removeOwned(join(dirname(path), name), account);
  }
}

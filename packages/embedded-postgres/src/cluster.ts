import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import type { Dirent } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { SystemAccount } from './system-account.js';
import type { Binaries } from './binaries.js';
import { changeMode, makeDirectoryFor, makeFileFor, readOwnFile, replaced } from './own-file.js';
import { errorCode } from './error-facts.js';
import { isAlive } from './postmaster.js';

/** The cluster's administrator, which PostgreSQL must have; the service has another role (provision.ts). */
export const SUPERUSER = 'postgres';

// Inside the cluster: an account that may read it may read the data anyway, and neither can be lost without the other.
const PASSWORD_FILE = 'service-password';

// Byte order and UTC: nothing depends on the machine's locale. Every connection needs the password.
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
  /** Completes the new cluster at `path`, whose superuser has the password, before it is put in its place. */
  readonly prepare?: (path: string, password: string) => void;
}

/**
 * Makes the cluster at `path` if there is none yet. It appears at once, by renaming, so a start that is killed half-way
 * leaves nothing that a later one could take for a database.
 *
 * @returns the password; it is kept in a file of mode 0600, never passed as an argument
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
  // A backup may have been restored with other modes, which PostgreSQL's new files would take over.
  if (process.platform !== 'win32') changeMode(path, cluster.account?.uid, () => 0o700);
  return readPassword(path);
}

/** The password of the service in the cluster at `path`. */
export function readPassword(path: string): string {
  return readOwnFile(join(path, PASSWORD_FILE));
}

/**
 * PostgreSQL waits without end when it opens a named pipe, for example in place of `pg_hba.conf`.
 * @throws a sentence if there is one, or anything else that is neither a file nor a directory
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
    if (errorCode(error) === 'ENOENT') return []; // the last process of a killed server removes its temporary files
    throw error;
  }
}

/** Removes a directory of PostgreSQL's account, or a file. */
export function removeOwned(path: string, account: SystemAccount | undefined): void {
  if (!account) return rmSync(path, { recursive: true, force: true });
  // Under that account, which may replace a directory below by a link meanwhile; only `path` itself is not the account's to remove.
  spawnSync('rm', ['-rf', '--', path], { ...account, cwd: '/', env: {} });
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
  withInitdb(binaries, (program) => {
    const initdb = spawnSync(program, args, { ...account, cwd: '/', env: {}, encoding: 'utf8' }); // without the service's secrets
    if (initdb.status !== 0)
      throw new Error(`initdb failed: ${initdb.error?.message ?? initdb.stderr.trim()}`);
  });
  prepare?.(unfinished, password);
  renameSync(passwordFile, join(unfinished, PASSWORD_FILE));
  try {
    renameSync(unfinished, path);
  } catch (error) {
    removeOwned(unfinished, account);
    if (!lstatSync(path, { throwIfNoEntry: false })) throw error; // else another start was faster, and its cluster counts
  }
}

/**
 * initdb names its own directory to a shell in double quotes, which leave a meaning to these characters. From such a
 * directory it is copied, with the one program that it calls.
 */
function withInitdb({ initdb, postgres }: Binaries, use: (initdb: string) => void): void {
  if (process.platform === 'win32' || !/[$`"\\]/.test(initdb)) return use(initdb);
  const copy = mkdtempSync(join(tmpdir(), 'latchkey-initdb-'));
  try {
    chmodSync(copy, 0o755);
    mkdirSync(join(copy, 'bin'), { mode: 0o755 });
    for (const program of [initdb, postgres]) copyFileSync(program, join(copy, 'bin', basename(program)));
    const installed = dirname(dirname(initdb));
    for (const name of ['lib', 'share']) symlinkSync(join(installed, name), join(copy, name));
    use(join(copy, 'bin', basename(initdb)));
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Removes what killed starts have left; what a living process is making stays. */
function removeUnfinished(path: string, account: SystemAccount | undefined): void {
  const prefix = `${basename(path)}.new-`;
  for (const name of readdirSync(dirname(path))) {
    if (!name.startsWith(prefix)) continue;
    const pid = Number.parseInt(name.slice(prefix.length), 10);
    if (pid === process.pid || !isAlive(pid)) removeOwned(join(dirname(path), name), account);
  }
}

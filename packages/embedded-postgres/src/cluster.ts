import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { SystemAccount } from './system-account.js';
import type { Binaries } from './binaries.js';
import { newPasswordFile, readPassword } from './password-file.js';
import { isAlive } from './postmaster.js';

/** The cluster's administrator, which PostgreSQL must have; the service has another role (provision.ts). */
export const SUPERUSER = 'postgres';

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
}

/**
 * Makes the cluster at `path` if there is none yet. It appears at once, by renaming, so a start that is killed half-way
 * leaves nothing that a later one could take for a database.
 *
 * @returns the password, as `readPassword` does; it is kept in a file of mode 0600, never passed as an argument
 */
export function ensureCluster(path: string, { binaries, account, options = [] }: NewCluster): string {
  if (!existsSync(path)) {
    removeUnfinished(path);
    const unfinished = `${path}.new-${process.pid}`;
    const passwordFile = `${unfinished}.password`;
    mkdirSync(unfinished, { mode: 0o700 });
    writeFileSync(passwordFile, randomBytes(24).toString('base64url'), {
      mode: 0o600,
      flag: 'wx',
      flush: true,
    });
    if (account) for (const file of [unfinished, passwordFile]) chownSync(file, account.uid, account.gid);
    const initdb = spawnSync(
      binaries.initdb,
      ['-D', unfinished, '-U', SUPERUSER, `--pwfile=${passwordFile}`, ...SAME_EVERYWHERE, ...options],
      { ...account, cwd: '/', env: {}, encoding: 'utf8' }, // PostgreSQL must not inherit the service's secrets
    );
    if (initdb.status !== 0) {
      removeUnfinished(path);
      throw new Error(`initdb failed: ${initdb.error?.message ?? initdb.stderr.trim()}`);
    }
    renameSync(passwordFile, newPasswordFile(unfinished));
    install(unfinished, path);
  }
  chmodSync(path, 0o700); // a backup may have been restored with other modes, which PostgreSQL's new files would take over
  return readPassword(path);
}

function install(unfinished: string, path: string): void {
  try {
    renameSync(unfinished, path);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    if (!existsSync(path)) throw error; // else another start was faster, and its cluster counts
  }
}

/** Removes what killed starts have left; what a living process is making stays. */
function removeUnfinished(path: string): void {
  const prefix = `${basename(path)}.new-`;
  for (const name of readdirSync(dirname(path))) {
    if (!name.startsWith(prefix)) continue;
    const pid = Number.parseInt(name.slice(prefix.length), 10);
    if (pid === process.pid || !isAlive(pid))
      rmSync(join(dirname(path), name), { recursive: true, force: true });
  }
}

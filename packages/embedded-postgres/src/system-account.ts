import { spawnSync } from 'node:child_process';
import { lstatSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** An account of the operating system, as an option of `spawn`. */
export interface SystemAccount {
  readonly uid: number;
  readonly gid: number;
}

/** Runs PostgreSQL for a service that runs as root. Not `nobody`: its processes could read and write the database. */
export const ACCOUNT = 'latchkey-postgres';

const USERADD = ['--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent'];
const SYSTEM_PATH = '/usr/sbin:/usr/bin:/sbin:/bin'; // `su` leaves a PATH without /usr/sbin
const USERADD_TIMEOUT_MS = 30_000; // useradd waits 15 s for the lock of another one

/**
 * Returns the account that runs PostgreSQL, which refuses to run as root; undefined for the account of the service. For root,
 * the first call creates an account.
 *
 * @throws a sentence if the account cannot be created, or is not for PostgreSQL alone
 */
export function postgresAccount(log: (line: string) => void = () => undefined): SystemAccount | undefined {
  if (process.getuid?.() !== 0) return undefined;
  if (process.platform !== 'linux') {
    throw new Error('PostgreSQL does not run as root: start the service as an ordinary user');
  }
  const existing = findAccount();
  if (existing) return existing;
  const reason = createAccount();
  const created = findAccount(); // possibly by another start
  if (!created) {
    throw new Error(
      `PostgreSQL does not run as root, and the account ${ACCOUNT} cannot be created (${reason}): start the service as an ordinary user`,
    );
  }
  log(`embedded PostgreSQL: runs as the system account ${ACCOUNT}, which has been created`);
  return created;
}

/** @returns the reason of a failure */
function createAccount(): string {
  const { error, stderr } = spawnSync('useradd', [...USERADD, '--shell', '/usr/sbin/nologin', ACCOUNT], {
    cwd: '/',
    env: { PATH: SYSTEM_PATH },
    encoding: 'utf8',
    timeout: USERADD_TIMEOUT_MS,
  });
  return error?.message ?? stderr.trim().replaceAll('\n', '; ');
}

function findAccount(): SystemAccount | undefined {
  const entries = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const entry = entries.find(([name]) => name === ACCOUNT);
  if (!entry) return undefined;
  const [, , uid, gid, , , shell = ''] = entry;
  const fault = (reason: string): Error =>
    new Error(
      `the account ${ACCOUNT}, which would run PostgreSQL, ${reason}: correct or remove it, or start the service as an ordinary user`,
    );
  if (!Number(uid) || !Number(gid)) throw fault('has the user id or the group id of root');
  if (!/\/(?:nologin|false)$/.test(shell)) throw fault(`can log in (its shell is "${shell}")`);
  const sharer = entries.find((other) => other !== entry && Number(other[2]) === Number(uid));
  if (sharer) throw fault(`has the same user id as ${sharer[0]}`);
  return { uid: Number(uid), gid: Number(gid) };
}

const SHARED_PLACE = '/var/lib/latchkey';

/**
 * Makes and returns `/var/lib/latchkey/<name>`, for files that PostgreSQL's account must reach if their usual directory is
 * below one that only root may enter (a root home of mode 0700).
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

/** Whether `account` may enter a directory; the kernel decides, so ACLs count. */
export function canEnter(account: SystemAccount, directory: string): boolean {
  const options = { ...account, cwd: '/', env: {} }; // without the service's secrets
  return spawnSync('/bin/sh', ['-c', 'cd -- "$1"', 'sh', directory], options).status === 0;
}

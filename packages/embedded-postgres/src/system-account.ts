import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The operating system's account that runs PostgreSQL, in the form that `spawn` takes. */
export interface SystemAccount {
  readonly uid: number;
  readonly gid: number;
}

/** The account for a service that runs as root. Not `nobody`, whose processes could read and write the database. */
export const ACCOUNT = 'latchkey-postgres';

const USERADD = ['--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent'];
const SYSTEM_PATH = '/usr/sbin:/usr/bin:/sbin:/bin'; // `su` leaves a PATH without /usr/sbin
const USERADD_TIMEOUT_MS = 30_000; // useradd waits 15 s for the lock of another one

/**
 * PostgreSQL refuses to run as root. A service that runs as root gets an account for PostgreSQL alone, which is created once.
 * Any other service runs PostgreSQL as itself.
 *
 * @returns undefined for the account of the service
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
  const created = findAccount(); // perhaps by another start
  if (!created) {
    throw new Error(
      `PostgreSQL does not run as root, and the account ${ACCOUNT} cannot be created (${reason}): start the service as an ordinary user`,
    );
  }
  log(`embedded PostgreSQL: runs as the system account ${ACCOUNT}, which has been created`);
  return created;
}

/** @returns why that failed, if it failed */
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

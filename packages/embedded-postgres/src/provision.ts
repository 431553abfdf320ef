import { spawnSync } from 'node:child_process';
import { escapeLiteral } from 'pg';
import type { Binaries } from './binaries.js';
import { SUPERUSER } from './cluster.js';
import { QUIET } from './server.js';
import type { SystemAccount } from './system-account.js';

/** The service's role, and its database. */
export const SERVICE = 'latchkey';

/** Creates the service's role and its database in a new cluster. Without a password, no client can log in as superuser. */
export function provision(cluster: StoppedCluster, password: string): void {
  runAsSuperuser(cluster, 'postgres', [
    `CREATE ROLE ${SERVICE} LOGIN PASSWORD ${escapeLiteral(password)}`,
    `CREATE DATABASE ${SERVICE} OWNER ${SERVICE}`,
    `ALTER ROLE ${SUPERUSER} PASSWORD NULL`,
  ]);
}

export interface StoppedCluster {
  readonly path: string;
  readonly account: SystemAccount | undefined;
  readonly binaries: Binaries;
}

/**
 * Runs SQL as the superuser in a stopped cluster, without a password or an open port. PostgreSQL ends with its input, so also
 * if this process is killed.
 *
 * @param statements without a semicolon before an empty line, which ends a statement
 * @throws PostgreSQL's message at the first failure
 */
export function runAsSuperuser(
  { path, account, binaries }: StoppedCluster,
  database: string,
  statements: readonly string[],
): void {
  const settings = ['exit_on_error=on', ...QUIET].flatMap((setting) => ['-c', setting]);
  const { status, signal, error, stderr } = spawnSync(
    binaries.postgres,
    ['--single', '-j', ...settings, '-D', path, database],
    {
      ...account,
      cwd: '/',
      env: {}, // without the service's secrets
      encoding: 'utf8',
      input: statements.map((statement) => `${statement};\n\n`).join(''),
    },
  );
  if (status === 0) return;
  throw new Error(
    error?.message ??
      /FATAL: .*/.exec(stderr)?.[0] ??
      `PostgreSQL's single-user mode ended with ${signal ?? status}`,
  );
}

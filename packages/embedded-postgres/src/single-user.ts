import { spawnSync } from 'node:child_process';
import type { SystemAccount } from './system-account.js';
import type { Binaries } from './binaries.js';
import { QUIET } from './server.js';

export interface StoppedCluster {
  readonly path: string;
  readonly account: SystemAccount | undefined;
  readonly binaries: Binaries;
}

/**
 * Runs SQL as the superuser in a cluster whose server does not run: the only way in that needs neither a password nor
 * an open port. PostgreSQL ends with its input, so also when this process is killed.
 *
 * @param statements none may contain a semicolon before an empty line: that ends a statement
 * @throws with PostgreSQL's message at the first that fails; those after it do not run
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
      env: {}, // PostgreSQL must not inherit the service's secrets
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

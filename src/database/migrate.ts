import { DataSource } from 'typeorm';
import { applyMigrations } from './apply-migrations.js';
import { connectPatiently } from './connect-patiently.js';
import type { DatabaseOptions } from './data-source.js';
import { takeMigrationLock } from './migration-lock.js';
import type { Patience } from './patiently.js';
import { requireUsable } from './require-usable.js';

// The lock's own statements are quick: where they are not, the database hangs.
const LOCK_CONNECTION = { keepAlive: true, query_timeout: 5000 };

const ONE_PATIENT_CONNECTION = {
  poolSize: 1,
  connectTimeoutMS: 10_000,
  logger: 'debug' as const, // silent: a failure is thrown, so it need not be printed as well
};

// A request must fail soon, but building an index may take hours.
const NO_TIMEOUTS = {
  statement_timeout: undefined,
  query_timeout: undefined,
  lock_timeout: undefined,
  idle_in_transaction_session_timeout: undefined,
};

/**
 * Applies the migrations that the database lacks. Of any number of instances that start at once, one does it and the
 * others wait (without the lock they would apply the same one, and fail). When there is nothing to do, this takes about 50 ms.
 *
 * @param options timeouts and pool size in them do not apply to the migrations
 * @param patience with a database that is not there yet, as when both are started together, and with locks that others hold
 * @returns the names of migrations that a newer version has applied
 * @throws the database's error; when it is not reachable in time, one with its address and the reason, never the password
 */
export async function migrate(options: DatabaseOptions, patience: Patience): Promise<string[]> {
  const deadline = Date.now() + patience.patienceMs;
  // The lock has a connection of its own, since not every migration runs in a transaction.
  const lock = await connectPatiently(options.extra.Client, LOCK_CONNECTION, patience);
  try {
    await requireUsable(lock);
    await takeMigrationLock(lock, patience.signal);
    const extra: object = { ...options.extra, ...NO_TIMEOUTS };
    const dataSource = new DataSource({ ...options, ...ONE_PATIENT_CONNECTION, extra });
    const left = { ...patience, patienceMs: deadline - Date.now() };
    const newer = await applyMigrations(dataSource, left);
    await lock.query('COMMIT'); // so that a pooler may keep the session
    return newer;
  } finally {
    await lock.end(); // with which the lock goes, whatever has failed
  }
}

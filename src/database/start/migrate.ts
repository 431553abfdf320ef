import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseError, type Client } from 'pg';
import { DataSource, MigrationExecutor, type Migration, type QueryRunner } from 'typeorm';
import type { DatabaseClient } from '../pool/client.js';
import { type DatabaseOptions, keepsSession } from '../pool/data-source.js';
import { errorCode, errorMessage } from '../statements/error-facts.js';
import { liftTimeouts } from './lift-timeouts.js';
import { LOCK_NOT_AVAILABLE, patiently, type Patience } from './patiently.js';
import { requireOwnTables, requireUsable } from './require-usable.js';
import { settingFault } from './setting-fault.js';

const MIN_CONNECT_MS = 100;
const MAX_CONNECT_MS = 5000;
const NO_CONNECTION = '08001'; // sqlclient_unable_to_establish_sqlconnection

// Any fixed number, the same in every version of the service.
const MIGRATION_LOCK = '7165934107325011';
const POLL_MS = 100;

/** A statement that waits for a lock on a table is in front of every later one: each may be late by so much. */
const LOCK_TIMEOUT_MS = 200;

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
 * Applies the migrations that the database lacks. Of several instances that start at once, one does it and the others wait
 * (otherwise all would apply the same one, and fail). Without pending migrations this takes about 50 ms.
 *
 * @param options timeouts and pool size in them do not apply to the migrations
 * @param patience with a database that is not available yet, and with locks of others
 * @returns the names of migrations that a newer version has applied
 * @throws the database's error; if it is not reachable in time, one with its address and the reason, never the password
 */
export function migrate(options: DatabaseOptions, patience: Patience): Promise<string[]> {
  return patiently((msLeft) => migrateOnce(options, msLeft, patience.signal), patience);
}

/** One attempt at it, for a caller that is patient itself. */
export async function migrateOnce(
  options: DatabaseOptions,
  msLeft: number,
  signal: AbortSignal,
): Promise<string[]> {
  // A second connection, since not every migration runs in a transaction.
  const lock = await connect(options.extra.Client, msLeft);
  try {
    await requireUsable(lock);
    await takeLock(lock, signal);
    const extra: object = { ...options.extra, ...NO_TIMEOUTS };
    const dataSource = new DataSource({ ...options, ...ONE_PATIENT_CONNECTION, extra });
    const newer = await applyMigrations(dataSource);
    await lock.query('COMMIT'); // so that a pooler may keep the session
    return newer;
  } finally {
    await lock.end(); // with which the lock ends, also after a failure
  }
}

async function connect(Client: DatabaseClient, msLeft: number): Promise<Client> {
  const connectionTimeoutMillis = Math.max(MIN_CONNECT_MS, Math.min(MAX_CONNECT_MS, msLeft));
  // The lock's statements are quick: a slow answer means that the database hangs.
  const client = new Client({ keepAlive: true, query_timeout: 5000, connectionTimeoutMillis });
  client.on('error', () => undefined); // pg emits what `connect` rejects with, too
  try {
    await client.connect();
    return client;
  } catch (error) {
    client.end().catch(() => undefined);
    if (error instanceof DatabaseError || settingFault(error)) throw error;
    const reason = errorMessage(error) || String(errorCode(error)); // no message if there are several addresses
    const unreachable = new Error(`no database at ${client.host}:${client.port}: ${reason}`, {
      cause: error,
    });
    throw Object.assign(unreachable, { code: NO_CONNECTION });
  }
}

/**
 * Takes the lock under which one instance migrates, until the end of the client's transaction: a lock of the session would stay
 * behind a pooler in transaction mode, which hands the session to others.
 *
 * It polls. Waiting inside a statement would hold a snapshot, and a `CREATE INDEX CONCURRENTLY` of the instance that migrates
 * would wait for the end of that snapshot: both would wait forever. At this isolation level an idle transaction holds none.
 */
async function takeLock(client: Client, signal: AbortSignal): Promise<void> {
  for (;;) {
    await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
    const { rows } = await client.query<{ locked: boolean }>(
      `SELECT pg_try_advisory_xact_lock(${MIGRATION_LOCK}) AS locked`,
    );
    if (rows[0]?.locked) break;
    await client.query('ROLLBACK');
    await delay(POLL_MS, undefined, { signal });
  }
  await client.query(liftTimeouts('transaction')); // it is idle while the migrations run
}

/** @returns the names of the migrations that the database has and this version does not know */
async function applyMigrations(dataSource: DataSource): Promise<string[]> {
  await dataSource.initialize();
  try {
    const runner = dataSource.createQueryRunner();
    const executor = new MigrationExecutor(dataSource, runner);
    const known = new Map(dataSource.migrations.map((one) => [one.name ?? one.constructor.name, one]));
    await requireOwnTables(runner, known);
    for (const migration of await executor.getPendingMigrations()) await apply(migration, runner, executor);
    const applied = (await runner.query('SELECT name FROM migrations ORDER BY id')) as { name: string }[];
    return applied.map(({ name }) => name).filter((name) => !known.has(name));
  } finally {
    await dataSource.destroy();
  }
}

/** Applies a migration as a whole or not at all, while other instances serve: it does not wait long for a lock. */
async function apply(migration: Migration, runner: QueryRunner, executor: MigrationExecutor): Promise<void> {
  if (migration.instance?.transaction === false) {
    // `CREATE INDEX CONCURRENTLY` is in no other statement's way, and leaves an invalid index if it is given up. So it has no
    // limit, except through a pooler in transaction mode, which shares its sessions (docs/production.md).
    if (keepsSession(runner.dataSource)) await runner.query(liftTimeouts('session'));
    await executor.executeMigration(migration);
    return;
  }
  await runner.startTransaction();
  try {
    await runner.query(liftTimeouts('transaction'));
    await runner.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await executor.executeMigration(migration);
    await runner.commitTransaction();
  } catch (error) {
    await runner.rollbackTransaction().catch(() => undefined); // the first error is the one that counts
    if (errorCode(error) !== LOCK_NOT_AVAILABLE) throw error;
    const locked = `migration ${migration.name} did not get its locks, nothing of it was applied`;
    const advice = 'end what holds a table for so long (a dump, VACUUM, an open transaction)';
    throw Object.assign(new Error(`${locked}: ${advice}`, { cause: error }), { code: LOCK_NOT_AVAILABLE });
  }
}

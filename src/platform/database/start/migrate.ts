import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseError, type Client, type QueryResult } from 'pg';
import { DataSource, MigrationExecutor, type Migration, type QueryRunner } from 'typeorm';
import type { ConnectionTarget } from '../pool/connection-target.js';
import type { DatabaseOptions } from '../pool/data-source.js';
import { errorCode, errorReason } from '../../errors/error-facts.js';
import { describeWrongSetting, LOCK_NOT_AVAILABLE, retry, type RetryOptions } from './retry.js';
import { migrationState, ofOtherSchema, requireUsable, type MigrationState } from './require-usable.js';

const MIN_CONNECT_MS = 100;
const MAX_CONNECT_MS = 5000;
const DUPLICATE_TABLE = '42P07';
const NO_CONNECTION = '08001'; // sqlclient_unable_to_establish_sqlconnection

// Number of an advisory lock, which must not change between versions.
const MIGRATION_LOCK = '7165934107325011';
const POLL_MS = 100;

/** A statement that waits for a table's lock delays all later ones on that table. */
const LOCK_TIMEOUT_MS = 200;

/** For work that may take hours, such as an index: session-settings.ts sets 0 in a session of its own. */
export const NO_TIMEOUTS = {
  query_timeout: undefined,
  statement_timeout: undefined,
  idle_in_transaction_session_timeout: undefined,
};

/** Lifts the time-outs of database, role and URL for a transaction; `transaction_timeout`: PostgreSQL 17. */
const liftTimeouts = (lockTimeoutMs: number): string => `
  SELECT set_config(name, CASE name WHEN 'lock_timeout' THEN '${lockTimeoutMs}' ELSE '0' END, true)
  FROM unnest(ARRAY[
    'statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout']) AS name
  WHERE current_setting(name, true) IS NOT NULL`;

export type MigrationOptions = DatabaseOptions & Required<Pick<DatabaseOptions, 'migrations'>>;

/** Takes the lock in a transaction, which is idle while the migrations run. */
const TAKE_LOCK = `
  BEGIN ISOLATION LEVEL READ COMMITTED;
  ${liftTimeouts(0)};
  SELECT pg_try_advisory_xact_lock(${MIGRATION_LOCK}) AS locked`;

/**
 * Applies the missing migrations; of instances that start at once, one does, and the others wait.
 * @returns the names of migrations that a newer version has applied
 * @throws the database's error, or after the time-out one with its address and the reason, never the password
 */
export function migrate(options: MigrationOptions, retries: RetryOptions): Promise<readonly string[]> {
  return retry(async (msLeft) => (await migrateOnce(options, msLeft, retries.signal)).newer, retries);
}

interface Migrated {
  /** Names of the migrations that were applied to an older database; none of a new one. */
  readonly upgraded: readonly string[];
  /** Names of those that a newer version has applied. */
  readonly newer: readonly string[];
}

/** Applies the missing migrations as `migrate`, without retries. */
export async function migrateOnce(
  options: MigrationOptions,
  msLeft: number,
  signal: AbortSignal,
): Promise<Migrated> {
  // not every migration runs in a transaction that could hold it
  const lock = await connect(options.extra.Client, msLeft);
  try {
    await requireUsable(lock);
    await takeLock(lock, signal);
    const untimed = {
      ...options,
      extra: { ...options.extra, ...NO_TIMEOUTS },
      poolSize: 1,
      connectTimeoutMS: 10_000,
    };
    const migrated = await withMigrations(untimed, async (runner, state) => {
      const executor = new MigrationExecutor(runner.connection, runner);
      const pending = await executor.getPendingMigrations();
      const isOld = pending.length < runner.connection.migrations.length;
      try {
        for (const group of groupsOf(pending, isOld)) await apply(group, runner, executor);
      } catch (error) {
        throw isOld && errorCode(error) === DUPLICATE_TABLE ? ofOtherSchema(error) : error;
      }
      return { upgraded: isOld ? pending.map(({ name }) => name) : [], newer: state.newer };
    });
    await lock.query('COMMIT'); // so that a pooler may keep the session
    return migrated;
  } finally {
    await lock.end(); // with which the lock ends, also after a failure
  }
}

/** Checks that a start could migrate the database. @returns also the version of the server */
export function checkDatabase(
  options: MigrationOptions,
  retries: RetryOptions,
): Promise<MigrationState & { readonly version: string }> {
  return retry(async (msLeft) => {
    const client = await connect(options.extra.Client, msLeft);
    try {
      const version = await requireUsable(client);
      return await withMigrations(options, async (_runner, state) => {
        const { name, mayCreate } = state.schema;
        if (mayCreate || state.pending.length === 0) return { ...state, version };
        const code = '42501'; // insufficient_privilege, as PostgreSQL would throw
        throw Object.assign(new Error(`permission denied for schema ${name}`), { code });
      });
    } finally {
      await client.end();
    }
  }, retries);
}

async function connect(Client: ConnectionTarget['Client'], msLeft: number): Promise<Client> {
  const connectionTimeoutMillis = Math.max(MIN_CONNECT_MS, Math.min(MAX_CONNECT_MS, msLeft));
  // The lock's statements are quick: a slow answer means that the database hangs.
  const client = new Client({ keepAlive: true, query_timeout: 5000, connectionTimeoutMillis });
  client.on('error', () => undefined); // pg emits what `connect` rejects with, too
  try {
    await client.connect();
    return client;
  } catch (error) {
    client.end().catch(() => undefined);
    if (error instanceof DatabaseError || describeWrongSetting(error)) throw error;
    const message = `no database at ${client.host}:${client.port}: ${errorReason(error)}`;
    throw Object.assign(new Error(message, { cause: error }), { code: NO_CONNECTION });
  }
}

/**
 * Takes the migration lock for a transaction: a pooler would keep a session's. It polls, because a waiting
 * statement holds a snapshot, for whose end `CREATE INDEX CONCURRENTLY` would wait forever.
 */
async function takeLock(client: Client, signal: AbortSignal): Promise<void> {
  for (;;) {
    const results: unknown = await client.query(TAKE_LOCK);
    // pg returns one for each statement
    const { rows } = (results as QueryResult<{ locked: boolean }>[]).at(-1)!;
    if (rows[0]?.locked) return;
    await client.query('ROLLBACK');
    await delay(POLL_MS, undefined, { signal });
  }
}

async function withMigrations<Result>(
  options: MigrationOptions,
  work: (runner: QueryRunner, state: MigrationState) => Promise<Result>,
): Promise<Result> {
  // `debug` is silent: failures are thrown.
  const dataSource = await new DataSource({ ...options, logger: 'debug' }).initialize();
  try {
    const runner = dataSource.createQueryRunner();
    return await work(runner, await migrationState(runner));
  } finally {
    await dataSource.destroy();
  }
}

const isOutside = ({ instance }: Migration): boolean => instance?.transaction === false;

/**
 * Returns what is applied as a whole, in order: the migrations of a new database together, so that a refused
 * start leaves nothing; of an old one each alone, so that no other statement waits long for its locks.
 */
function groupsOf(pending: readonly Migration[], isOld: boolean): readonly (readonly Migration[])[] {
  const groups: Migration[][] = [];
  for (const migration of pending) {
    const last = groups.at(-1);
    const isAlone = isOld || last === undefined || [migration, last[0]!].some(isOutside);
    if (isAlone) groups.push([migration]);
    else last.push(migration);
  }
  return groups;
}

/** Applies migrations as a whole or not at all, while others serve: it does not wait long for a lock. */
async function apply(
  migrations: readonly Migration[],
  runner: QueryRunner,
  executor: MigrationExecutor,
): Promise<void> {
  const [first] = migrations;
  // `CREATE INDEX CONCURRENTLY` blocks no other statement, and leaves an invalid index if it times out:
  // behind a pooler in transaction mode, time-outs of the role or the database apply (docs/production.md).
  if (isOutside(first!)) {
    await executor.executeMigration(first!);
    return;
  }
  let { name } = first!;
  await runner.startTransaction();
  try {
    await runner.query(liftTimeouts(LOCK_TIMEOUT_MS));
    for (const migration of migrations) {
      name = migration.name;
      await executor.executeMigration(migration);
    }
    await runner.commitTransaction();
  } catch (error) {
    await runner.rollbackTransaction().catch(() => undefined); // the first error is the one that counts
    if (errorCode(error) !== LOCK_NOT_AVAILABLE) throw error;
    const locked = `migration ${name} did not get its locks, nothing of it was applied`;
    const advice = 'end what holds a table for so long (a dump, VACUUM, an open transaction)';
    throw Object.assign(new Error(`${locked}: ${advice}`, { cause: error }), { code: LOCK_NOT_AVAILABLE });
  }
}

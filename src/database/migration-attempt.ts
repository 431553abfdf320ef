import type { Migration, QueryRunner } from 'typeorm';
import { keepsSession } from './data-source.js';
import { liftTimeouts } from './lift-timeouts.js';

/** What waits for a lock on a table stands in front of every statement that comes later: each may be late by so much. */
const LOCK_TIMEOUT_MS = 200;
/** Longer than PostgreSQL's `deadlock_timeout` (1 s), after which autovacuum gives way. */
const VACUUM_TIMEOUT_MS = 3000;

// What migrations may change.
const OWN_TABLES = `
  SELECT string_agg(oid::regclass::text, ', ') AS names FROM pg_class
  WHERE relkind = 'r' AND relnamespace = to_regnamespace(current_schema()) AND pg_has_role(relowner, 'USAGE')`;

/**
 * One attempt at one migration: it is applied as a whole, or not at all.
 *
 * @param apply runs the migration on the runner's connection
 * @throws PostgreSQL's 55P03 when it had to wait too long for a lock
 */
export async function attempt(
  { instance }: Migration,
  runner: QueryRunner,
  apply: () => Promise<unknown>,
): Promise<void> {
  if (instance?.transaction === false) return outsideOfTransactions(runner, apply);
  await runner.startTransaction();
  try {
    await runner.query(liftTimeouts('transaction'));
    await keepVacuumAway(runner);
    await runner.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await apply();
    await runner.commitTransaction();
  } catch (error) {
    await runner.rollbackTransaction().catch(() => undefined); // the first error is the one that counts
    throw error;
  }
}

/**
 * Autovacuum gives way only to those who wait for longer than a migration may. So this waits first, for a lock that is in
 * the way of vacuuming, and of nothing that the service does.
 */
async function keepVacuumAway(runner: QueryRunner): Promise<void> {
  await runner.query(`SET LOCAL lock_timeout = ${VACUUM_TIMEOUT_MS}`);
  const [own] = (await runner.query(OWN_TABLES)) as { names: string | null }[];
  if (own?.names) await runner.query(`LOCK TABLE ${own.names} IN SHARE UPDATE EXCLUSIVE MODE`);
}

/**
 * `CREATE INDEX CONCURRENTLY`: nobody waits behind it, and when it is given up an invalid index stays. So it has no limit;
 * except through a pooler in transaction mode, where lifting it would lift it for others (docs/production.md).
 */
async function outsideOfTransactions(runner: QueryRunner, apply: () => Promise<unknown>): Promise<void> {
  if (keepsSession(runner.dataSource)) await runner.query(liftTimeouts('session'));
  await apply();
}

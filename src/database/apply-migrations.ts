import { setTimeout as delay } from 'node:timers/promises';
import { MigrationExecutor, type DataSource, type Migration } from 'typeorm';
import { errorCode } from './error-facts.js';
import { attempt } from './migration-attempt.js';
import type { Patience } from './patiently.js';
import { requireOwnTables } from './require-usable.js';

/** Between two attempts at one migration, for the statements that had to wait behind it. */
const PAUSE_MS = 800;

const LOCK_NOT_AVAILABLE = '55P03'; // lock_not_available

/**
 * Applies the migrations that the database lacks, one after the other, while other instances serve: one that waits for a
 * lock gives up before it is in their way for long, and is tried again.
 *
 * @param dataSource that is not initialized yet, with a pool of one connection
 * @returns the names of the migrations that the database has and this version does not know
 * @throws when a migration has not got its locks before the patience is over
 */
export async function applyMigrations(dataSource: DataSource, patience: Patience): Promise<string[]> {
  const deadline = Date.now() + patience.patienceMs;
  await dataSource.initialize();
  try {
    const runner = dataSource.createQueryRunner();
    const executor = new MigrationExecutor(dataSource, runner);
    const known = new Map(dataSource.migrations.map((one) => [one.name ?? one.constructor.name, one]));
    await requireOwnTables(runner, known);
    for (const migration of await executor.getPendingMigrations()) {
      const apply = (): Promise<unknown> => executor.executeMigration(migration);
      await retryWhileLocked(migration, () => attempt(migration, runner, apply), deadline, patience);
    }
    const applied = (await runner.query('SELECT name FROM migrations ORDER BY id')) as { name: string }[];
    return applied.map(({ name }) => name).filter((name) => !known.has(name));
  } finally {
    await dataSource.destroy();
  }
}

async function retryWhileLocked(
  { name }: Migration,
  work: () => Promise<void>,
  deadline: number,
  { signal, log }: Patience,
): Promise<void> {
  for (let told = false; ; told = true) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (errorCode(error) !== LOCK_NOT_AVAILABLE) throw error;
      if (Date.now() >= deadline) throw lockedOut(name, error);
      if (!told) log(`waiting for the database: migration ${name} needs a lock that others hold`);
    }
    await delay(PAUSE_MS, undefined, { signal });
  }
}

function lockedOut(migration: string, cause: unknown): Error {
  const advice =
    'end what holds a table for so long (a dump, VACUUM, an open transaction), or start again then';
  const message = `migration ${migration} did not get its locks in time, nothing of it was applied: ${advice}`;
  return new Error(message, { cause });
}

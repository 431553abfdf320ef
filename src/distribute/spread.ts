import type { DataSource, EntityManager } from 'typeorm';
import { planOf, type Placement } from './plan.js';

/** Any fixed number will do, as long as every version of the service takes the same. */
const LOCK = 0x6c6b_0004;

/** There is nothing over which the tables could be spread. */
export class NoCitus extends Error {}

const CITUS = `SELECT FROM pg_extension WHERE extname = 'citus'`;

const OTHERS = `
  SELECT count(*)::int AS count FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'latchkey' AND pid <> pg_backend_pid()`;

const IS_SPREAD = 'SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass($1)) AS yes';

// Citus copies the rows into the shards, and leaves the old ones where nobody sees or removes them. Access tokens are among them.
const FORGET = `
  SELECT truncate_local_data_after_distributing_table(to_regclass($1)) WHERE pg_relation_size(to_regclass($1)) > 0`;

/** @throws NoCitus */
export async function requireCitus(dataSource: DataSource): Promise<void> {
  const { length } = await dataSource.query<object[]>(CITUS);
  if (length === 0) {
    throw new NoCitus(
      'this database is no Citus cluster: it lacks the extension "citus", and nothing was done',
    );
  }
}

/**
 * An instance that was started before the tables are spread would send statements that Citus refuses.
 * @throws when no table is spread yet and the service is running
 */
export async function requireStopped(dataSource: DataSource): Promise<void> {
  for (const { table } of planOf(dataSource)) if (await isSpread(dataSource.manager, table)) return;
  const [others] = await dataSource.query<{ count: number }[]>(OTHERS);
  if (others!.count === 0) return;
  const connections = `${others!.count} ${others!.count === 1 ? 'connection' : 'connections'}`;
  throw new Error(
    `the service uses this database (${connections}): stop all instances first; nothing was done`,
  );
}

/**
 * Spreads the tables that are not yet spread over the nodes, each with its rows. One that was interrupted may be repeated.
 *
 * @param dataSource with one connection and no timeouts
 * @param log receives one line for each table
 */
export async function spread(dataSource: DataSource, log: (line: string) => void): Promise<void> {
  for (const placement of planOf(dataSource)) {
    const isNew = await dataSource.transaction((manager) => place(manager, placement));
    await dataSource.query(FORGET, [placement.table]);
    log(`${placement.table}: ${describe(placement)}${isNew ? '' : ', already'}`);
  }
}

/** @returns false when it is there already */
async function place(manager: EntityManager, { table, by, beside }: Placement): Promise<boolean> {
  await manager.query('SELECT pg_advisory_xact_lock($1)', [LOCK]); // of two at a time, the second finds it done
  if (await isSpread(manager, table)) return false;
  if (by === undefined) await manager.query('SELECT create_reference_table(to_regclass($1))', [table]);
  else {
    await manager.query('SELECT create_distributed_table(to_regclass($1), $2, colocate_with => $3)', [
      table,
      by,
      beside ?? 'none',
    ]);
  }
  return true;
}

async function isSpread(manager: EntityManager, table: string): Promise<boolean> {
  const [found] = await manager.query<{ yes: boolean }[]>(IS_SPREAD, [table]);
  return found!.yes;
}

function describe({ by, beside }: Placement): string {
  if (by === undefined) return 'on every node';
  return beside === undefined ? `spread by ${by}` : `spread by ${by}, beside ${beside}`;
}

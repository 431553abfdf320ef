import { Reflector } from '@nestjs/core';
import { DataSource, type EntityManager } from 'typeorm';
import { ReferenceTable } from '../database/citus.js';
import { dataSourceOptions, keepsSession, type ConnectionTarget } from '../database/pool/data-source.js';
import { liftTimeouts } from '../database/start/migrate.js';
import { ENTITIES } from '../entities.js';

/** Number of an advisory lock, which must not change between versions. */
const LOCK = 0x6c6b_0004;

/** The database has no extension `citus`. */
export class NoCitus extends Error {}

/** How the rows of a table are distributed. */
interface Placement {
  readonly table: string;
  /** The hash of this column chooses the node; undefined: every node has all rows. */
  readonly by?: string;
  /** An earlier table with this column: equal values are on one node. */
  readonly beside?: string;
}

const CITUS = `SELECT FROM pg_extension WHERE extname = 'citus'`;

const OTHERS = `
  SELECT count(*)::int AS count FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'latchkey' AND pid <> pg_backend_pid()`;

const IS_DISTRIBUTED =
  'SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass($1)) AS yes';

// Citus copies the rows into shards and keeps the hidden originals, among them access tokens.
const REMOVE_ORIGINALS = `
  SELECT truncate_local_data_after_distributing_table(to_regclass($1)) WHERE pg_relation_size(to_regclass($1)) > 0`;

/** Opens one connection to the coordinator, without time-outs: moving a table's rows may take hours. */
export async function openCluster(target: ConnectionTarget): Promise<DataSource> {
  const options = dataSourceOptions(target, 1);
  const extra = { ...options.extra, query_timeout: undefined, idleTimeoutMillis: 0 };
  const dataSource = await new DataSource({ ...options, extra, entities: ENTITIES }).initialize();
  if (keepsSession(dataSource)) await dataSource.query(liftTimeouts('session'));
  return dataSource;
}

/** @throws NoCitus */
export async function requireCitus(dataSource: DataSource): Promise<void> {
  const { length } = await dataSource.query<object[]>(CITUS);
  if (length > 0) return;
  throw new NoCitus(
    'this database is no Citus cluster: it lacks the extension "citus", and nothing was done',
  );
}

/**
 * Instances that were started before the tables are distributed send statements that Citus refuses.
 * @throws if no table is distributed yet and the service is running
 */
export async function requireStopped(dataSource: DataSource): Promise<void> {
  for (const { table } of placements(dataSource)) {
    if (await isDistributed(dataSource.manager, table)) return;
  }
  const [others] = await dataSource.query<{ count: number }[]>(OTHERS);
  if (others!.count === 0) return;
  const connections = `${others!.count} ${others!.count === 1 ? 'connection' : 'connections'}`;
  throw new Error(
    `the service uses this database (${connections}): stop all instances first; nothing was done`,
  );
}

/**
 * Distributes the remaining tables over the nodes, with their rows. May be repeated after an interruption.
 *
 * @param dataSource with one connection and no time-outs
 * @param log receives one line for each table
 */
export async function distribute(dataSource: DataSource, log: (line: string) => void): Promise<void> {
  for (const placement of placements(dataSource)) {
    const isNew = await dataSource.transaction((manager) => place(manager, placement));
    await dataSource.query(REMOVE_ORIGINALS, [placement.table]);
    log(`${placement.table}: ${describe(placement)}${isNew ? '' : ', already'}`);
  }
}

/** Distributes the tables of a new version when it starts on a cluster; they are nearly empty, so older instances keep running. */
export async function distributeNewTables(target: ConnectionTarget): Promise<void> {
  const cluster = await openCluster(target);
  try {
    await distribute(cluster, () => undefined);
  } finally {
    await cluster.destroy();
  }
}

/** Returns the placement of every table, each after the table that it is beside. */
export function placements(dataSource: DataSource): Placement[] {
  const reflector = new Reflector();
  const first = new Map<string, string>(); // table by column
  return ENTITIES.map((entity) => {
    const { tableName: table, primaryColumns } = dataSource.getMetadata(entity);
    if (reflector.get<unknown>(ReferenceTable.KEY, entity)) return { table };
    const by = primaryColumns[0]!.databaseName;
    const beside = first.get(by);
    if (beside !== undefined) return { table, by, beside };
    first.set(by, table);
    return { table, by };
  });
}

/** @returns false if the table is distributed already */
async function place(manager: EntityManager, { table, by, beside }: Placement): Promise<boolean> {
  await manager.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
  if (await isDistributed(manager, table)) return false;
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

async function isDistributed(manager: EntityManager, table: string): Promise<boolean> {
  const [found] = await manager.query<{ yes: boolean }[]>(IS_DISTRIBUTED, [table]);
  return found!.yes;
}

function describe({ by, beside }: Placement): string {
  if (by === undefined) return 'on every node';
  return beside === undefined ? `spread by ${by}` : `spread by ${by}, beside ${beside}`;
}

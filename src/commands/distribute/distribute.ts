import 'reflect-metadata';
import { Reflector } from '@nestjs/core';
import { DataSource, type EntityManager } from 'typeorm';
import { hasCitus, isDistributed } from '../../citus/citus.js';
import { directTarget, type ConnectionTarget } from '../../platform/database/pool/connection-target.js';
import { dataSourceOptions } from '../../platform/database/pool/data-source.js';
import { ReferenceTable } from '../../platform/database/reference-table.js';
import { migrate, NO_TIMEOUTS } from '../../platform/database/start/migrate.js';
import { ENTITIES, MIGRATIONS } from '../../entities.js';
import { errorReason } from '../../platform/errors/error-facts.js';
import { loadCommandSettings } from '../../settings.js';

const LOCK = 0x6c6b_0004; // number of an advisory lock, which must not change between versions

const MIGRATION_TIMEOUT_MS = 30_000;

const NO_CLUSTER = 'this database is no Citus cluster: it lacks the extension "citus"';

interface Placement {
  readonly table: string;
  /** The hash of this column chooses the node; undefined: every node has all rows. */
  readonly by?: string;
  /** An earlier table with this column: equal values are on one node. */
  readonly beside?: string;
}

// Raw SQL: functions and catalogs of PostgreSQL and Citus have no entity.
const OTHERS = `
  SELECT count(*)::int AS count FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'latchkey' AND pid <> pg_backend_pid()`;

const IS_DISTRIBUTED =
  'SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass($1)) AS yes';

const CREATE_REFERENCE = 'SELECT create_reference_table(to_regclass($1))';
const CREATE_DISTRIBUTED = 'SELECT create_distributed_table(to_regclass($1), $2, colocate_with => $3)';

// Citus copies the rows into shards and keeps the hidden originals, among them access tokens.
const REMOVE_ORIGINALS = `
  SELECT truncate_local_data_after_distributing_table(to_regclass($1)) WHERE pg_relation_size(to_regclass($1)) > 0`;

/** `latchkey distribute`. @returns the exit code: 0 done, 1 not done, 2 no Citus */
export async function runDistribute(): Promise<number> {
  try {
    const settings = loadCommandSettings('none');
    if (settings.databaseDirectUrl === undefined)
      return fail(2, 'DATABASE_URL is not set, and the embedded PostgreSQL has no Citus');
    const log = (line: string): void => void process.stdout.write(`${line}\n`);
    const isCluster = await distributeDatabase(directTarget(settings), log);
    if (!isCluster) return fail(2, `${NO_CLUSTER}, and nothing was done`);
    log('Done: start the service now.');
    return 0;
  } catch (error) {
    return fail(1, errorReason(error));
  }
}

function fail(code: number, message: string): number {
  process.stderr.write(`distribute: ${message}\n`);
  return code;
}

/** Opens one connection to the coordinator, without time-outs: moving a table's rows may take hours. */
export async function onCluster<Result>(
  target: ConnectionTarget,
  work: (cluster: DataSource) => Promise<Result>,
): Promise<Result> {
  const options = dataSourceOptions(target, 1);
  const extra = { ...options.extra, ...NO_TIMEOUTS, idleTimeoutMillis: 0 };
  const cluster = await new DataSource({ ...options, extra, entities: ENTITIES }).initialize();
  try {
    return await work(cluster);
  } finally {
    await cluster.destroy();
  }
}

/** @throws a sentence if the database is no cluster */
export async function requireCluster(target: ConnectionTarget): Promise<void> {
  if (!(await onCluster(target, hasCitus))) throw new Error(NO_CLUSTER);
}

/**
 * Brings the schema up to date, and distributes the tables of a service that is stopped.
 * @returns false without Citus; nothing was done then
 * @throws an Error if no table is distributed yet and the service is running
 */
export function distributeDatabase(target: ConnectionTarget, log: (line: string) => void): Promise<boolean> {
  return onCluster(target, async (cluster) => {
    if (!(await hasCitus(cluster))) return false;
    const { signal } = new AbortController();
    await migrate(
      { ...dataSourceOptions(target, 1), migrations: MIGRATIONS },
      { timeoutMs: MIGRATION_TIMEOUT_MS, signal, log },
    );
    await requireStopped(cluster);
    await distribute(cluster, log);
    return true;
  });
}

/** Distributes the tables of a new version, which are nearly empty, while older instances keep running. */
export function distributeNewTables(target: ConnectionTarget): Promise<void> {
  return onCluster(target, (cluster) => distribute(cluster, () => undefined));
}

/** Instances that were started before the tables are distributed send statements that Citus refuses. */
async function requireStopped(dataSource: DataSource): Promise<void> {
  if (await isDistributed(dataSource)) return;
  const [others] = await dataSource.query<{ count: number }[]>(OTHERS);
  if (others!.count === 0) return;
  const connections = `${others!.count} ${others!.count === 1 ? 'connection' : 'connections'}`;
  throw new Error(
    `the service uses this database (${connections}): stop all instances first; nothing was done`,
  );
}

/** Distributes remaining tables, with their rows. May be repeated. @param dataSource with one connection */
async function distribute(dataSource: DataSource, log: (line: string) => void): Promise<void> {
  for (const placement of placements(dataSource)) {
    const isNew = await dataSource.transaction((manager) => place(manager, placement));
    await dataSource.query(REMOVE_ORIGINALS, [placement.table]);
    log(`${placement.table}: ${describe(placement)}${isNew ? '' : ', already'}`);
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
  const [found] = await manager.query<{ yes: boolean }[]>(IS_DISTRIBUTED, [table]);
  if (found!.yes) return false;
  const values = by === undefined ? [table] : [table, by, beside ?? 'none'];
  await manager.query(by === undefined ? CREATE_REFERENCE : CREATE_DISTRIBUTED, values);
  return true;
}

function describe({ by, beside }: Placement): string {
  if (by === undefined) return 'on every node';
  return beside === undefined ? `spread by ${by}` : `spread by ${by}, beside ${beside}`;
}

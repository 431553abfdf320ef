import type { Client } from 'pg';
import type { DataSource, EntityTarget, ObjectLiteral, QueryRunner } from 'typeorm';
import { errorMessage } from '../../errors/error-facts.js';
import { describeWrongSetting } from './retry.js';

const READ_ONLY = '25006'; // read_only_sql_transaction

const SERVER = `
  SELECT current_setting('transaction_read_only') AS "readOnly", current_setting('server_encoding') AS encoding,
    current_setting('server_version') AS version`;

/**
 * Checks that the service can use the database. @returns the version of the server
 * @throws a sentence; with the code 25006 if the server is read-only (failover, standby)
 */
export async function requireUsable(client: Client): Promise<string> {
  // before TypeORM
  const { rows } = await client.query<Record<'readOnly' | 'encoding' | 'version', string>>(SERVER);
  const { readOnly, encoding, version } = rows[0]!;
  if (encoding !== 'UTF8') {
    const advice = "create one with ENCODING 'UTF8' (CREATE DATABASE … TEMPLATE template0 ENCODING 'UTF8')";
    throw new Error(`the database cannot be used: its encoding is ${encoding}; ${advice}`);
  }
  if (readOnly !== 'off') throw Object.assign(new Error('it cannot be written to'), { code: READ_ONLY });
  return version;
}

// Another schema of search_path may have such a table of other tools.
const SCHEMA = `
  SELECT current_schema() AS name, has_schema_privilege(current_schema(), 'CREATE') AS "mayCreate",
    to_regclass(quote_ident(current_schema()) || '.migrations') IS NOT NULL AS "hasMigrations"`;

/** The core's first migration before 0.1.0, whose schema changed without a new name. */
const BEFORE_FIRST_VERSION = 'Init1700000000000';

/** Names of migrations that are not applied yet, and of migrations of a newer version. */
export interface MigrationState {
  readonly pending: readonly string[];
  /** Pending ones that build indexes beside other instances: they take long on large tables. */
  readonly lengthy: readonly string[];
  readonly newer: readonly string[];
  readonly schema: {
    readonly name: string | null;
    readonly mayCreate: boolean;
    readonly hasMigrations: boolean;
  };
}

/**
 * Compares the migrations with the database's; creates nothing.
 * @throws a sentence: from before 0.1.0, foreign, without a schema
 */
export async function migrationState({ manager, connection }: QueryRunner): Promise<MigrationState> {
  const [schema] = await manager.query<[MigrationState['schema']]>(SCHEMA); // raw: of no table
  const code = '3F000'; // invalid_schema_name, as PostgreSQL would throw
  if (schema.name === null)
    throw Object.assign(new Error('no schema has been selected to create in'), { code });
  const migrations = manager
    .createQueryBuilder()
    .select('name')
    .from('migrations', 'migrations')
    .orderBy('id');
  const rows = schema.hasMigrations ? await migrations.getRawMany<{ name: string }>() : [];
  const applied = rows.map(({ name }) => name);
  if (applied.includes(BEFORE_FIRST_VERSION)) throw ofOtherSchema(new Error('it is from before 0.1.0'));
  const known = connection.migrations.map(({ name, transaction, constructor }) => {
    return { name: name ?? constructor.name, transaction };
  });
  const pending = known.filter(({ name }) => !applied.includes(name));
  // A newer version has those of this one, too.
  if (applied.length > 0 && pending.length === known.length)
    throw ofOtherSchema(new Error('its table of migrations is of another application'));
  const names = new Set(known.map(({ name }) => name));
  return {
    pending: pending.map(({ name }) => name),
    lengthy: pending.filter(({ transaction }) => transaction === false).map(({ name }) => name),
    newer: applied.filter((name) => !names.has(name)),
    schema,
  };
}

/**
 * Compares the columns of schema and entities, in one statement. Finds missing columns, and columns that only
 * the database has and that every new row would need.
 */
const DIFFERENCES = `
  SELECT "table", "column", found.required IS NULL AS "isMissing"
  FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS described ("table", "column", position)
  FULL JOIN (
    SELECT relname::text AS "table", attname::text AS "column",
      attnotnull AND NOT atthasdef AND attidentity = '' AS required
    FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
    WHERE relnamespace = to_regnamespace(quote_ident(current_schema())) AND relname = ANY ($1)
      AND relkind IN ('r', 'p') AND attnum > 0 AND NOT attisdropped
  ) AS found USING ("table", "column")
  WHERE found.required IS NULL OR found.required AND described.position IS NULL
  ORDER BY described.position`;

const OTHER_SCHEMA =
  'begin with an empty database, or start the version that made this one (docs/versions.md)';

/** Returns the error of a schema that has tables of migrations which were not applied. */
export function ofOtherSchema(cause: unknown): Error {
  return new Error(`the database cannot be used: ${errorMessage(cause)}; ${OTHER_SCHEMA}`, { cause });
}

/** @throws a sentence if the migrated schema is of another version, from before 0.1.0, or half restored */
export async function requireSchema(dataSource: DataSource): Promise<void> {
  const columns = dataSource.entityMetadatas.flatMap(({ tableName, columns: all }) =>
    all.map(({ databaseName }) => [tableName, databaseName] as const),
  );
  const parameters = [0, 1].map((i) => columns.map((column) => column[i]));
  type Difference = { table: string; column: string; isMissing: boolean };
  const [first] = await dataSource.query<Difference[]>(DIFFERENCES, parameters); // raw: of the catalogue
  if (!first) return requireKeys(dataSource);
  const what = first.isMissing ? 'lacks the column' : 'has the unknown column';
  throw new Error(
    `the database cannot be used: its schema ${what} ${first.table}.${first.column}; ${OTHER_SCHEMA}`,
  );
}

/** `pg_restore` makes the keys after all rows: one that was interrupted leaves none. */
async function requireKeys({ entityMetadatas, manager }: DataSource): Promise<void> {
  const [table] = await manager.query<{ name: string }[]>(
    `SELECT relname AS name FROM pg_class
     WHERE relnamespace = to_regnamespace(quote_ident(current_schema())) AND relname = ANY ($1)
       AND NOT EXISTS (SELECT FROM pg_index WHERE indrelid = pg_class.oid AND indisprimary AND indisvalid)
     ORDER BY 1 LIMIT 1`,
    [entityMetadatas.map(({ tableName }) => tableName)],
  );
  if (!table) return;
  const advice = 'restore it into an empty database (docs/maintenance.md)';
  throw new Error(
    `the database cannot be used: ${table.name} has no primary key, so a backup was not restored to its end; ${advice}`,
  );
}

/**
 * @param entities of pending migrations
 * @param isEmpty whether no migration was applied
 * @throws as the migrations would: such a table is of another application or version, or of half a backup
 */
export async function requireNoTables(
  dataSource: DataSource,
  entities: readonly EntityTarget<ObjectLiteral>[],
  isEmpty: boolean,
): Promise<void> {
  const [table] = await dataSource.query<{ name: string }[]>(
    `SELECT relname AS name FROM pg_class
     WHERE relnamespace = to_regnamespace(quote_ident(current_schema())) AND relname = ANY ($1)`,
    [entities.map((entity) => dataSource.getMetadata(entity).tableName)],
  );
  const code = '42P07'; // duplicate_table
  if (!table) return;
  const error = Object.assign(new Error(`relation "${table.name}" already exists`), { code });
  throw isEmpty ? new Error(describeWrongSetting(error), { cause: error }) : ofOtherSchema(error);
}

import type { Client } from 'pg';
import type { QueryRunner } from 'typeorm';

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

/** Names of migrations that are not applied yet, and of migrations of a newer version. */
export interface MigrationState {
  readonly pending: readonly string[];
  readonly newer: readonly string[];
  readonly schema: { readonly name: string; readonly mayCreate: boolean; readonly hasMigrations: boolean };
}

/** Compares the migrations with the database's; creates nothing. */
export async function migrationState(
  { manager }: QueryRunner,
  known: readonly string[],
): Promise<MigrationState> {
  const [schema] = await manager.query<[MigrationState['schema']]>(SCHEMA); // raw: of no table
  const migrations = manager
    .createQueryBuilder()
    .select('name')
    .from('migrations', 'migrations')
    .orderBy('id');
  const rows = schema.hasMigrations ? await migrations.getRawMany<{ name: string }>() : [];
  const applied = rows.map(({ name }) => name);
  return {
    pending: known.filter((name) => !applied.includes(name)),
    newer: applied.filter((name) => !known.includes(name)),
    schema,
  };
}

/** @throws as PostgreSQL if the role cannot create tables in the schema */
export function requireCreateRight({ schema: { name, mayCreate } }: MigrationState): void {
  if (mayCreate) return;
  const code = '42501'; // insufficient_privilege
  throw Object.assign(new Error(`permission denied for schema ${name}`), { code });
}

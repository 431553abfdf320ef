import type { Client } from 'pg';
import type { QueryRunner } from 'typeorm';

const READ_ONLY = '25006'; // read_only_sql_transaction

const FACTS = `
  SELECT current_setting('transaction_read_only') AS "readOnly", current_setting('server_encoding') AS encoding`;

/** @throws a sentence if the service cannot use the database; with the code 25006 if it is read-only (failover, standby) */
export async function requireUsable(client: Client): Promise<void> {
  const { rows } = await client.query<Record<'readOnly' | 'encoding', string>>(FACTS);
  const { readOnly, encoding } = rows[0]!;
  if (encoding !== 'UTF8') {
    const advice = "create one with ENCODING 'UTF8' (CREATE DATABASE … TEMPLATE template0 ENCODING 'UTF8')";
    throw new Error(`the database cannot be used: its encoding is ${encoding}; ${advice}`);
  }
  if (readOnly !== 'off') throw Object.assign(new Error('it cannot be written to'), { code: READ_ONLY });
}

// Another schema of search_path may have such a table of other tools.
const OWN_TABLE = `SELECT to_regclass(quote_ident(current_schema()) || '.migrations') AS name`;
const APPLIED = 'SELECT name FROM migrations ORDER BY id';

/** Names of migrations that are not applied yet, and of migrations of a newer version. */
export type MigrationState = Readonly<Record<'pending' | 'newer', readonly string[]>>;

/** Compares the migrations with the database's; creates nothing. */
export async function migrationState(
  { manager }: QueryRunner,
  known: readonly string[],
): Promise<MigrationState> {
  const [table] = await manager.query<[{ name: string | null }]>(OWN_TABLE);
  const rows = table.name === null ? [] : await manager.query<{ name: string }[]>(APPLIED);
  const applied = rows.map(({ name }) => name);
  return {
    pending: known.filter((name) => !applied.includes(name)),
    newer: applied.filter((name) => !known.includes(name)),
  };
}

/** @throws as PostgreSQL if the role cannot create tables in the schema */
export async function requireCreateRight({ manager }: QueryRunner): Promise<void> {
  const [{ may, schema }] = await manager.query<[{ may: boolean; schema: string }]>(
    `SELECT has_schema_privilege(current_schema(), 'CREATE') AS may, current_schema() AS schema`,
  );
  if (may) return;
  const code = '42501'; // insufficient_privilege
  throw Object.assign(new Error(`permission denied for schema ${schema}`), { code });
}

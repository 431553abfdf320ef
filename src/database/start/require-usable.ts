import type { Client } from 'pg';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { BEGINS_WITH_POSTGRES } from '../pool/session-settings.js';

const READ_ONLY = '25006'; // read_only_sql_transaction

const FACTS = `
  SELECT current_setting('transaction_read_only') AS "readOnly", current_setting('server_encoding') AS encoding,
    current_setting('search_path') AS path, CASE WHEN NOT ${BEGINS_WITH_POSTGRES} THEN current_schema() END AS schema`;

type Facts = Readonly<Record<'readOnly' | 'encoding' | 'path', string>> & { readonly schema: string | null };

/** @throws a sentence if the service cannot use the database; with the code 25006 if it is read-only (failover, standby) */
export async function requireUsable(client: Client): Promise<void> {
  const { rows } = await client.query<Facts>(FACTS);
  const { readOnly, encoding, path, schema } = rows[0]!;
  if (encoding !== 'UTF8') {
    const advice = "create one with ENCODING 'UTF8' (CREATE DATABASE … TEMPLATE template0 ENCODING 'UTF8')";
    throw new Error(`the database cannot be used: its encoding is ${encoding}; ${advice}`);
  }
  if (schema === null) {
    const advice =
      'create its first one (CREATE SCHEMA), let the role use it (GRANT), or take the setting back (RESET search_path)';
    throw new Error(
      `the database cannot be used: its search_path (${path}) begins with no schema that the role may use; ${advice}`,
    );
  }
  if (readOnly !== 'off') throw Object.assign(new Error('it cannot be written to'), { code: READ_ONLY });
}

// Other tools have tables of that name, too.
const MIGRATIONS = `
  SELECT n.nspname AS schema, 3 = (
    SELECT count(*) FROM pg_attribute WHERE attrelid = c.oid AND attname IN ('id', 'timestamp', 'name')) AS "isTypeOrms"
  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = to_regclass('migrations')`;

// Each table has a type of its name.
const TAKEN = `
  WITH own AS (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
  SELECT relname AS name FROM pg_class, own WHERE relnamespace = own.oid AND relname = ANY ($1)
  UNION SELECT typname FROM pg_type, own WHERE typnamespace = own.oid AND typname = ANY ($1)
  ORDER BY name`;

const MAKES = /\bCREATE (?:UNLOGGED |UNIQUE )?(?:TABLE|INDEX) (\w+)/g;

/** Names of migrations that are not applied yet, and of those that a newer version has applied. */
export type MigrationState = Readonly<Record<'pending' | 'newer', readonly string[]>>;

/** Refuses a schema in which another application has a table or an index that a migration would create. */
export async function requireOwnTables(
  { manager }: QueryRunner,
  migrations: ReadonlyMap<string, MigrationInterface>,
): Promise<MigrationState> {
  const [{ schema: own }] = await manager.query<[{ schema: string }]>('SELECT current_schema() AS schema');
  const [table] = await manager.query<{ schema: string; isTypeOrms: boolean }[]>(MIGRATIONS);
  const applied = table?.isTypeOrms
    ? await manager.query<{ name: string }[]>('SELECT name FROM migrations ORDER BY id')
    : [];
  const areOurs = applied.some(({ name }) => migrations.has(name));
  if (areOurs && table!.schema !== own) {
    const schema = table!.schema;
    throw new Error(
      `the database cannot be used: the service's tables are in schema "${schema}", but search_path begins with "${own}"; ` +
        `set search_path to ${schema}, for the role or in the URL (?options=-csearch_path%3D${schema})`,
    );
  }
  if (table?.schema === own && !areOurs && (!table.isTypeOrms || applied.length > 0))
    throw taken('migrations', own);
  const names = new Set(areOurs ? applied.map(({ name }) => name) : []);
  // Migrations are atomic, so a table of a pending one is not the service's.
  const pending = [...migrations].filter(([name]) => !names.has(name));
  // oxlint-disable-next-line typescript/unbound-method -- only its source is read
  const made = pending.flatMap(([, { up }]) => [...String(up).matchAll(MAKES)].map(([, name]) => name));
  const [other] = await manager.query<{ name: string }[]>(TAKEN, [made]);
  if (other) throw taken(other.name, own);
  return {
    pending: pending.map(([name]) => name),
    newer: [...names].filter((name) => !migrations.has(name)),
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

function taken(name: string, schema: string): Error {
  return new Error(
    `the database cannot be used: "${name}" in schema "${schema}" does not belong to the service; ` +
      'give the service a database of its own, or a schema of its own: CREATE SCHEMA latchkey; ALTER ROLE … SET search_path = latchkey',
  );
}

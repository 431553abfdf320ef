import { Client, type QueryResultRow } from 'pg';

/** Runs SQL on a test's database, on a connection of its own. */
export async function query<Row extends QueryResultRow = Record<string, unknown>>(
  databaseUrl: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new Client(databaseUrl);
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

// These tables say who is connected where; a timer rewrites them.
const ADVISORY = ['instances', 'presence'];

/** Every row of every table, as text: to check that something changed nothing, or is stored nowhere. */
export async function dump(databaseUrl: string): Promise<string> {
  const client = new Client(databaseUrl);
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() AND tablename <> ALL ($1) ORDER BY 1`,
      [ADVISORY],
    );
    const all = tables.rows.map(({ name }) => `SELECT '${name} ' || t::text AS row FROM "${name}" t`);
    const { rows } = await client.query<{ row: string }>(`${all.join(' UNION ALL ')} ORDER BY 1`);
    return rows.map(({ row }) => row).join('\n');
  } finally {
    await client.end();
  }
}

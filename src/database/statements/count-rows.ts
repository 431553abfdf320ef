import type { Sql, Statement } from './sql.js';

/** Up to here a count is exact; it takes some 100 ms. */
const EXACT = 1_000_000;

const ESTIMATE = {
  name: 'rows-estimated',
  text: 'SELECT reltuples::float8 AS rows FROM pg_class WHERE oid = to_regclass($1)',
};

/**
 * Counts rows in bounded time: exactly up to about a million, above that as the statistics of autovacuum say.
 * On Citus, whose nodes count together, always exactly.
 *
 * @param relation a table, or a partial index, with these rows
 * @param exact selects their number as `rows`
 */
export async function countRows(sql: Sql, relation: string, exact: Statement): Promise<number> {
  if (!sql.distributed) {
    const [estimate] = await sql.query<{ rows: number }>(ESTIMATE, [relation]);
    if (estimate && estimate.rows > EXACT) return estimate.rows;
  }
  const [counted] = await sql.query<{ rows: number }>(exact, []);
  return counted!.rows;
}

import { errorCode } from './error-facts.js';
import type { Sql } from './sql.js';

/** Up to here a count is exact; it takes some 100 ms. */
const EXACT = 1_000_000;
const CANCELED = '57014'; // it took too long

interface Plan {
  readonly 'QUERY PLAN': readonly [{ readonly Plan: { readonly 'Plan Rows'?: number } }];
}

/**
 * Counts rows in bounded time: exactly up to about a million, or as the planner estimates them. On Citus always exactly.
 * @param from table and condition, without parameters
 */
export async function countRows(sql: Sql, name: string, from: string): Promise<number> {
  const estimate = sql.distributed ? 0 : await estimateRows(sql, name, from);
  if (estimate > EXACT) return estimate;
  try {
    const statement = { name, text: `SELECT count(*)::float8 AS rows FROM ${from}` };
    const [counted] = await sql.query<{ rows: number }>(statement, []);
    return counted!.rows;
  } catch (error) {
    if (sql.distributed || errorCode(error) !== CANCELED) throw error;
    return estimate;
  }
}

async function estimateRows(sql: Sql, name: string, from: string): Promise<number> {
  const statement = { name: `${name}-estimate`, text: `EXPLAIN (FORMAT JSON) SELECT FROM ${from}` };
  const [row] = await sql.query<Plan>(statement, []);
  return row?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
}

import type { Statement } from './sql.js';

/** Statements that write the time of the last use; the parameters are the columns of the primary key. */
export interface LastUse {
  /** Takes an array for each column. */
  readonly many: Statement;
  readonly one: Statement;
}

/**
 * Makes statements that set a time to now, at most once a minute and row.
 * @param key columns of the primary key, of the type uuid
 */
export function lastUse(table: string, column: string, key: readonly string[]): LastUse {
  const isDue = `${column} < now() - interval '1 minute'`;
  const columns = key.join(', ');
  const parameters = key.map((_, i) => `$${i + 1}::uuid`);
  const same = (other: string): string => key.map((name) => `t.${name} = ${other}.${name}`).join(' AND ');
  // Locked rows are skipped: another instance writes them now, or the next use of the row is written.
  const many = `
    WITH due AS (
      SELECT t.${key.join(', t.')}
      FROM unnest(${parameters.map((one) => `${one}[]`).join(', ')}) AS used (${columns}) JOIN ${table} t ON ${same('used')}
      WHERE t.${isDue}
      FOR NO KEY UPDATE OF t SKIP LOCKED
    )
    UPDATE ${table} t SET ${column} = now() FROM due WHERE ${same('due')}`;
  // Citus supports `SKIP LOCKED` for rows of one node only.
  const one = `
    UPDATE ${table} SET ${column} = now()
    WHERE ${key.map((name, i) => `${name} = ${parameters[i]}`).join(' AND ')} AND ${isDue}`;
  const name = `${table}-last-use`;
  return { many: { name, text: many }, one: { name: `${name}-one`, text: one } };
}

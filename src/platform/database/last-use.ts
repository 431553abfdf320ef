import { chunks } from './batching.js';
import type { Sql, Statement } from './sql.js';

/** Rows that one statement writes. */
const LARGEST_WRITE = 1000;

/** Statements that write the time of the last use; the parameters are the columns of the primary key. */
export interface LastUse {
  /** Takes an array for each column. */
  readonly many: Statement;
  readonly one: Statement;
}

/** Sets the time of the last use of rows to now. @param keys primary keys, each once */
export function writeLastUse(sql: Sql, use: LastUse, keys: readonly (readonly string[])[]): Promise<void> {
  if (sql.distributed) return forEachLimited(keys, (key) => sql.query(use.one, [...key]));
  return forEachLimited(chunks(keys, LARGEST_WRITE), (some) => {
    const columns = some[0]!.map((_, i) => some.map((key) => key[i]!));
    return sql.query(use.many, columns);
  });
}

/** Makes statements that set a time to now, at most once a minute and row. @param key columns of type uuid */
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
  // A distributed database supports `SKIP LOCKED` for rows of one node only.
  const one = `
    UPDATE ${table} SET ${column} = now()
    WHERE ${key.map((name, i) => `${name} = ${parameters[i]}`).join(' AND ')} AND ${isDue}`;
  const name = `${table}-last-use`;
  return { many: { name, text: many }, one: { name: `${name}-one`, text: one } };
}

/** Concurrent statements of one writer: less than half of the default pool, which requests need. */
const LIMIT = 4;
/** So many failures, if they outnumber successes, end the work: not one node is away, but the database. */
const MOST_FAILURES = 20;

/**
 * Works on each item, with at most LIMIT at a time. On a distributed database, a statement for rows of many
 * nodes commits in two phases; one for a single row needs one node.
 * @throws the first error, after the other items, unless most of them fail
 */
export async function forEachLimited<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const rest = items.values();
  let [done, failures] = [0, 0];
  let first: unknown;
  const lane = async (): Promise<void> => {
    for (const item of rest) {
      try {
        await work(item);
        done++;
      } catch (error) {
        first ??= error;
        if (++failures >= MOST_FAILURES && failures > done) return;
      }
    }
  };
  await Promise.all(Array.from({ length: LIMIT }, lane));
  if (failures > 0) throw first;
}

import type { DataSource } from 'typeorm';
import { mayDoWithFewer, MOST_FAILURES, REMOVAL_LOCK, type ExpiredRows } from './expired-rows.js';

/** How many seconds of expiry the first statement of a run takes. */
const FIRST_S = 30;
const SHORTEST_S = 0.001;
/** A statement that took less is followed by one for twice as many seconds; one that took three times as long, by half. */
const QUICK_MS = 100;

/** Seconds since the epoch: just before the first row that has expired (where none has: now), and now. */
const oldest = (table: string): string => `
  SELECT extract(epoch FROM coalesce(min(expires_at) - interval '1 ms', now()))::float8 AS at,
    extract(epoch FROM now())::float8 AS now
  FROM ${table} WHERE expires_at < now()`;

const slice = ({ table, mayGo }: ExpiredRows): string => `
  DELETE FROM ${table}
  WHERE expires_at >= to_timestamp($1) AND expires_at < least(now(), to_timestamp($2)) AND ${mayGo}`;

/**
 * Removes the expired rows of a table that is spread over a Citus cluster, where a statement can neither look at the next so
 * many rows and lock them, nor name them by their place. So a statement removes what expired within some seconds, on all nodes
 * at once, and how many seconds depends on how long the last one took: well below a statement's timeout.
 *
 * @param isStopping ends it after the statement that is running
 * @param rest is awaited between two statements
 * @param passedOver is called for each millisecond whose rows cannot be removed
 * @param startOf where a table begins, if the last run ended among rows that cannot be removed
 * @returns how many rows were removed; 0 as well while another instance is at it
 */
export async function removeSlices(
  dataSource: DataSource,
  rows: ExpiredRows,
  isStopping: () => boolean,
  rest: (ms: number) => Promise<unknown>,
  passedOver: (error: unknown) => void,
  startOf: Map<string, string>,
): Promise<number> {
  const [first] = await dataSource.query<{ at: number; now: number }[]>(oldest(rows.table));
  let removed = 0;
  let seconds = FIRST_S;
  let failures = 0;
  const start = Number(startOf.get(rows.table) ?? first!.at);
  startOf.delete(rows.table);
  for (let from = start; from < first!.now && !isStopping();) {
    const to = from + seconds;
    const began = performance.now();
    const count = await removeSlice(dataSource, rows, from, to);
    const took = performance.now() - began;
    if (count === 'taken') break;
    if (typeof count === 'object') {
      if (++failures > MOST_FAILURES) {
        startOf.set(rows.table, String(from));
        throw count.failure;
      }
      if (seconds > SHORTEST_S) {
        seconds = Math.max(SHORTEST_S, seconds / 8);
        continue;
      }
      passedOver(count.failure);
    } else {
      removed += count;
      failures = 0;
    }
    from = to;
    seconds = Math.max(SHORTEST_S, seconds * (took < QUICK_MS ? 2 : took > 3 * QUICK_MS ? 0.5 : 1));
    await rest(took);
  }
  return removed;
}

function removeSlice(
  dataSource: DataSource,
  rows: ExpiredRows,
  from: number,
  to: number,
): Promise<number | 'taken' | { readonly failure: unknown }> {
  return dataSource
    .transaction(async (manager) => {
      const [turn] = await manager.query<{ is_ours: boolean }[]>(
        'SELECT pg_try_advisory_xact_lock($1, hashtext($2)) AS is_ours',
        [REMOVAL_LOCK, rows.table],
      );
      if (!turn!.is_ours) return 'taken';
      const [, count] = await manager.query<[unknown, number]>(slice(rows), [from, to]);
      return count;
    })
    .catch((error: unknown) => {
      if (!mayDoWithFewer(error)) throw error;
      return { failure: error };
    });
}

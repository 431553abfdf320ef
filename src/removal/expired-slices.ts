import type { DataSource } from 'typeorm';
import { errorCode } from '../database/error-facts.js';
import { REMOVAL_LOCK, type ExpiredRows } from './expired-rows.js';

/** How many seconds of expiry the first statement of a run takes. */
const FIRST_S = 30;
const SHORTEST_S = 0.001;
/** A statement that took less is followed by one for twice as many seconds; one that took three times as long, by half. */
const QUICK_MS = 100;

const CANCELED = '57014'; // query_canceled: given up by the client, or by the server

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
 * @returns how many rows were removed; 0 as well while another instance is at it
 */
export async function removeSlices(
  dataSource: DataSource,
  rows: ExpiredRows,
  isStopping: () => boolean,
  rest: (ms: number) => Promise<unknown>,
): Promise<number> {
  const [first] = await dataSource.query<{ at: number; now: number }[]>(oldest(rows.table));
  let removed = 0;
  let seconds = FIRST_S;
  for (let from = first!.at; from < first!.now && !isStopping();) {
    const to = from + seconds;
    const began = performance.now();
    const count = await removeSlice(dataSource, rows, from, to);
    const took = performance.now() - began;
    if (count === 'taken') break;
    if (count === 'too many') {
      if (seconds <= SHORTEST_S) throw new Error(`${rows.table}: too many rows expired at one moment`);
      seconds = Math.max(SHORTEST_S, seconds / 8);
      continue;
    }
    removed += count;
    from = to;
    seconds *= took < QUICK_MS ? 2 : took > 3 * QUICK_MS ? 0.5 : 1;
    await rest(took);
  }
  return removed;
}

function removeSlice(
  dataSource: DataSource,
  rows: ExpiredRows,
  from: number,
  to: number,
): Promise<number | 'taken' | 'too many'> {
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
      if (errorCode(error) === CANCELED) return 'too many';
      throw error;
    });
}

import { setTimeout as delay } from 'node:timers/promises';
import { query } from './query.js';

/**
 * Resolves when so many statements of a database wait for a lock, or when the statement that should wait has ended.
 * @returns whether they wait
 */
export async function waiting(
  databaseUrl: string,
  count: number,
  ...work: PromiseLike<unknown>[]
): Promise<boolean> {
  let ended = 0;
  for (const one of work) {
    const end = (): void => void ended++;
    one.then(end, end);
  }
  for (;;) {
    const rows = await query(
      databaseUrl,
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    if (rows.length >= count) return true;
    if (ended === work.length) return false;
    await delay(10);
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import { query } from './database.js';

const LONGEST_MS = 60_000;

/**
 * Resolves when so many statements of a database wait for a lock, or when the statements that should wait have ended.
 * @param expected their number, or that and a text which they contain: a lock of a table also stops statements that a service executes
 *   by itself
 * @returns whether they wait; without `work` they must
 */
export async function waiting(
  databaseUrl: string,
  expected: number | readonly [count: number, text: string],
  ...work: PromiseLike<unknown>[]
): Promise<boolean> {
  const [count, text] = typeof expected === 'number' ? [expected, ''] : expected;
  let ended = 0;
  for (const one of work) {
    const end = (): void => void ended++;
    one.then(end, end);
  }
  const end = performance.now() + LONGEST_MS;
  for (;;) {
    const rows = await query(
      databaseUrl,
      `SELECT FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock' AND strpos(query, $1) > 0`,
      [text],
    );
    if (rows.length >= count) return true;
    if (work.length > 0 && ended === work.length) return false;
    if (performance.now() > end) throw new Error(`never waited: ${count} statements ${text}`);
    await delay(10);
  }
}

/**
 * Resolves once the condition holds; checks it again and again, and fails after a minute: a test must not hang.
 * @param what the condition in words, for the failure
 * @param longestMs instead of a minute
 */
export async function until(
  holds: () => boolean | Promise<boolean>,
  what = holds.toString(),
  longestMs = LONGEST_MS,
): Promise<void> {
  const end = performance.now() + longestMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`never came true: ${what}`);
    await delay(10);
  }
}

const EVERY_MS = 20;

/**
 * How busy this machine is while something with a limit happens: a limit is of the service, not of a machine
 * that runs three test files, browsers and databases at once.
 *
 * @returns the milliseconds by which a timer was late at worst since then; ends the watch
 */
export function watchLateness(): () => number {
  let [last, worst] = [performance.now(), 0];
  const look = (): void => {
    const now = performance.now();
    worst = Math.max(worst, now - last - EVERY_MS);
    last = now;
  };
  const timer = setInterval(look, EVERY_MS).unref();
  return () => {
    look();
    clearInterval(timer);
    return worst;
  };
}

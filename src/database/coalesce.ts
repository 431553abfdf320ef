import { DatabaseBusy, MOST_WAITING } from './database-busy.js';

/** At most so many statements of one kind at a time: the third caller waits, and shares the next statement. */
const IN_FLIGHT = 2;
const LARGEST_BATCH = 256;
/** From the call to its answer, waiting and statement together: contract §3 says 2 s, and thousands of answers take a while. */
const PATIENCE_MS = 1600;
/** How exactly: so that the callers of a moment are given up together. */
const PRECISION_MS = 20;

interface Waiting<Item, Result> {
  readonly item: Item;
  /** `performance.now()` of the call. */
  readonly since: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Makes one statement of what arrives together. A caller that comes alone is served at once and alone: nobody waits for
 * company. Nobody waits longer than PATIENCE_MS either, whatever the database does: who is given up before the statement
 * is never sent; who is given up during it is answered, and the result is dropped. So callers must be such that a result
 * which nobody hears of does no harm.
 *
 * @param run takes the items and returns their results, in the same order. If it fails, all its items fail.
 * @returns rejects with DatabaseBusy what is given up, or comes when MOST_WAITING wait already
 */
export function coalesce<Item, Result>(
  run: (items: Item[]) => Promise<Result[]>,
): (item: Item) => Promise<Result> {
  const waiting: Waiting<Item, Result>[] = []; // the longest wait first, as in every batch
  const inFlight = new Set<Waiting<Item, Result>[]>();
  let watched = false;

  async function start(batch: Waiting<Item, Result>[]): Promise<void> {
    inFlight.add(batch);
    try {
      const results = await run(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, i) => resolve(results[i]!)); // without effect on who was given up
    } catch (error) {
      batch.forEach(({ reject }) => reject(error));
    } finally {
      inFlight.delete(batch);
      waiting.splice(0, giveUp(waiting));
      next();
    }
  }

  function next(): void {
    if (inFlight.size === IN_FLIGHT || waiting.length === 0) return;
    void start(waiting.splice(0, LARGEST_BATCH));
  }

  /** One timer for all callers, which stands still while there are none: nothing for each call on the hottest path. */
  function watch(): void {
    waiting.splice(0, giveUp(waiting));
    const oldest = [...inFlight].map((batch) => batch[giveUp(batch)]).find((item) => item) ?? waiting[0];
    watched = oldest !== undefined;
    if (oldest) look(oldest.since + PATIENCE_MS - performance.now());
  }

  function look(ms: number): void {
    setTimeout(watch, Math.max(ms, PRECISION_MS)).unref();
  }

  return (item) =>
    new Promise((resolve, reject) => {
      if (waiting.length >= MOST_WAITING) {
        reject(new DatabaseBusy('too many wait for the database'));
        return;
      }
      waiting.push({ item, since: performance.now(), resolve, reject });
      next();
      if (watched) return;
      watched = true;
      look(PATIENCE_MS);
    });
}

/** Answers those whose time is over. @returns how many they are; they come first */
function giveUp(items: readonly Waiting<unknown, never>[]): number {
  const began = performance.now() - PATIENCE_MS;
  const inTime = items.findIndex(({ since }) => since > began);
  const late = items.slice(0, inTime === -1 ? items.length : inTime);
  if (late.length === 0) return 0;
  const error = new DatabaseBusy('the database did not answer in time');
  for (const { reject } of late) reject(error);
  return late.length;
}

import { DatabaseBusy, MOST_WAITING } from '../database-busy.js';
import { isRowFault } from './row-fault.js';

/** The most statements of one kind at a time: who comes then waits, and shares the next statement. */
const IN_FLIGHT = 2;
const LARGEST_BATCH = 256;
/** From the call to its answer, with all waiting: contract §3 says 2 s, and sending thousands of answers takes a while. */
const PATIENCE_MS = 1600;
/** How exactly PATIENCE_MS is kept, so that callers of about the same time are given up together. */
const PRECISION_MS = 20;

interface Waiting<Item, Result> {
  readonly item: Item;
  /** `performance.now()` of the call. */
  readonly since: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Makes one statement of calls that arrive together: all that come in one turn of the event loop, or while IN_FLIGHT statements
 * are under way. A single call waits for the end of its turn, never for a timer or for others. No call waits longer than
 * PATIENCE_MS, whatever the database does. An item that is given up before its statement is never sent; one that is given up
 * during it is rejected, and its result is dropped. So a dropped result must do no harm.
 *
 * @param run takes the items and returns their results, in the same order. If it fails, all its items fail; where that may be
 *   the fault of one of them (row-fault.ts), halves of them are tried instead, down to each alone. So a run that fails must have
 *   changed nothing: one statement, or one transaction
 * @returns a function that rejects with DatabaseBusy when a call is given up, or when MOST_WAITING are waiting already
 */
export function coalesce<Item, Result>(
  run: (items: Item[]) => Promise<Result[]>,
): (item: Item) => Promise<Result> {
  const waiting: Waiting<Item, Result>[] = []; // the longest wait first, as in every batch
  const inFlight = new Set<Waiting<Item, Result>[]>();
  let isNear = false;
  let watched = false;

  /** The next statement is made when the sockets that are readable now have been read: in libuv's check phase. */
  function soon(): void {
    if (isNear || inFlight.size === IN_FLIGHT || waiting.length === 0) return;
    isNear = true;
    setImmediate(next);
  }

  function next(): void {
    isNear = false;
    waiting.splice(0, giveUp(waiting));
    if (waiting.length > 0) void start(waiting.splice(0, LARGEST_BATCH));
    soon(); // a second one only in the next turn: the first must leave, and its items may have taken a while to prepare
  }

  async function start(batch: Waiting<Item, Result>[]): Promise<void> {
    inFlight.add(batch);
    await serve(batch);
    inFlight.delete(batch);
    soon();
  }

  /** Never rejects. */
  async function serve(batch: Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await run(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, i) => resolve(results[i]!)); // without effect on calls that were given up
    } catch (error) {
      if (batch.length > 1 && isRowFault(error)) await serveHalves(batch);
      else batch.forEach(({ reject }) => reject(error));
    }
  }

  /** One after the other, so that a batch with a fault takes no more connections than another. */
  async function serveHalves(batch: Waiting<Item, Result>[]): Promise<void> {
    const middle = Math.ceil(batch.length / 2);
    for (const half of [batch.slice(0, middle), batch.slice(middle)]) {
      const inTime = half.slice(giveUp(half));
      if (inTime.length > 0) await serve(inTime);
    }
  }

  /** Rejects the items whose time is over, which come first. @returns how many they are */
  function giveUp(items: readonly Waiting<Item, Result>[]): number {
    const began = performance.now() - PATIENCE_MS;
    const inTime = items.findIndex(({ since }) => since > began);
    const late = items.slice(0, inTime === -1 ? items.length : inTime);
    if (late.length === 0) return 0;
    const error = new DatabaseBusy('the database did not answer in time');
    for (const { reject } of late) reject(error);
    return late.length;
  }

  /** One timer for all callers, and none while there are no callers: a timer for each call would slow the hottest path. */
  function watch(): void {
    waiting.splice(0, giveUp(waiting));
    const oldest = [...inFlight].map((batch) => batch[giveUp(batch)]).find((item) => item) ?? waiting[0];
    watched = oldest !== undefined;
    if (oldest) look(oldest.since + PATIENCE_MS - performance.now());
  }

  /** After a busy turn of the event loop the answer may be in the socket: it is read before `setImmediate`. */
  function look(ms: number): void {
    setTimeout(() => setImmediate(watch), Math.max(ms, PRECISION_MS)).unref();
  }

  return (item) =>
    new Promise((resolve, reject) => {
      if (waiting.length >= MOST_WAITING) {
        reject(new DatabaseBusy('too many requests wait for the database'));
        return;
      }
      waiting.push({ item, since: performance.now(), resolve, reject });
      soon();
      if (watched) return;
      watched = true;
      look(PATIENCE_MS);
    });
}

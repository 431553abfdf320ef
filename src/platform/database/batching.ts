import { DatabaseBusy, MOST_WAITING } from './limits.js';
import { errorCode } from '../errors/error-facts.js';

/** Statements of one kind at a time; later calls wait for the next batch. */
const IN_FLIGHT = 2;
const LARGEST_BATCH = 256;
/** Call to result: an answer takes 2 s at most (SECURITY.md#promises, P10), with the sending of thousands. */
const TIMEOUT_MS = 1600;
/** Precision of the time-out. */
const PRECISION_MS = 50;

// SQLSTATE classes of errors of one row: cardinality, data exception, integrity constraint violation.
const ROW_ERROR_CLASSES = new Set(['21', '22', '23']);

interface Waiting<Item, Result> {
  readonly item: Item;
  /** `performance.now()` of the call. */
  readonly since: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Batches concurrent calls into one statement: all calls of one turn of the event loop, or while IN_FLIGHT
 * statements run. A single call waits for no timer. Calls time out after TIMEOUT_MS: before their statement
 * they are never sent, and during it the result is dropped, so a dropped result must do no harm.
 *
 * @param run takes the items and returns their results in this order. It is one statement or one transaction:
 *   if it fails because of a row, it is called again with each half of the items, down to single ones
 * @returns a function that rejects with DatabaseBusy after the time-out, or if MOST_WAITING calls wait
 */
export function coalesce<Item, Result>(
  run: (items: Item[]) => Promise<Result[]>,
): (item: Item) => Promise<Result> {
  const waiting: Waiting<Item, Result>[] = []; // oldest first, as in every batch
  const inFlight = new Set<Waiting<Item, Result>[]>();
  let isNear = false;
  let isWatched = false;

  /** Sends the next batch when all readable sockets have been read (libuv's check phase). */
  function soon(): void {
    if (isNear || inFlight.size === IN_FLIGHT || waiting.length === 0) return;
    isNear = true;
    setImmediate(next);
  }

  function next(): void {
    isNear = false;
    waiting.splice(0, expire(waiting));
    if (waiting.length > 0) {
      const batch = waiting.splice(0, LARGEST_BATCH);
      inFlight.add(batch);
      void serve(batch).finally(() => {
        inFlight.delete(batch);
        soon();
      });
    }
    soon(); // in the next turn: the first batch must leave
  }

  /** Never rejects. */
  async function serve(batch: Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await run(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, i) => resolve(results[i]!)); // without effect on calls that timed out
    } catch (error) {
      if (batch.length > 1 && isRowError(error)) await serveHalves(batch);
      else batch.forEach(({ reject }) => reject(error));
    }
  }

  /** In sequence, so that a failed batch takes one connection. */
  async function serveHalves(batch: Waiting<Item, Result>[]): Promise<void> {
    const middle = Math.ceil(batch.length / 2);
    for (const half of [batch.slice(0, middle), batch.slice(middle)]) {
      const inTime = half.slice(expire(half));
      if (inTime.length > 0) await serve(inTime);
    }
  }

  /** Rejects the items that have timed out, which come first. @returns their number */
  function expire(items: readonly Waiting<Item, Result>[]): number {
    const began = performance.now() - TIMEOUT_MS;
    const inTime = items.findIndex(({ since }) => since > began);
    const late = items.slice(0, inTime === -1 ? items.length : inTime);
    if (late.length === 0) return 0;
    const error = new DatabaseBusy('the database did not answer in time');
    for (const { reject } of late) reject(error);
    return late.length;
  }

  /** One timer for all calls: one for each would slow the hottest path. */
  function watch(): void {
    isWatched = true;
    // An answer that has arrived during a busy turn of the event loop is read before `setImmediate`.
    setTimeout(() => setImmediate(look), PRECISION_MS).unref();
  }

  function look(): void {
    waiting.splice(0, expire(waiting));
    for (const batch of inFlight) expire(batch);
    isWatched = false;
    if (waiting.length > 0 || inFlight.size > 0) watch();
  }

  return (item) =>
    new Promise((resolve, reject) => {
      if (waiting.length >= MOST_WAITING) {
        reject(new DatabaseBusy('too many requests wait for the database'));
        return;
      }
      waiting.push({ item, since: performance.now(), resolve, reject });
      soon();
      if (!isWatched) watch();
    });
}

function isRowError(error: unknown): boolean {
  const code = errorCode(error);
  return typeof code === 'string' && code.length === 5 && ROW_ERROR_CLASSES.has(code.slice(0, 2));
}

export type PlainElement = string | number | Buffer | null;

/**
 * Formats an array parameter without pg's quoting, which is slow for large batches. Only for ids, numbers,
 * hex and base64url, which need no escaping; never for text of a request. A Buffer is a `bytea`, null is
 * NULL.
 *
 * @see https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO
 */
export function plainArray(elements: readonly PlainElement[]): string {
  return `{${elements.map(textOf).join()}}`;
}

function textOf(element: PlainElement): string | number {
  if (element === null) return 'NULL';
  return Buffer.isBuffer(element) ? `\\\\x${element.toString('hex')}` : element;
}

export function chunks<Item>(items: readonly Item[], most: number): Item[][] {
  const count = Math.ceil(items.length / most);
  return Array.from({ length: count }, (_, i) => items.slice(i * most, (i + 1) * most));
}

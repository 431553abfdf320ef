import type { Seen } from './seen.js';

/**
 * A time in which a fresh token could not be had, or in which nobody could know that one was needed: the network or the service was
 * away, an answer was lost, IndexedDB failed, the device slept. Machine's clock, milliseconds.
 */
export interface Trouble {
  readonly from: number;
  /** Absent: it goes on. */
  to?: number;
}

/** Milliseconds before its end at which a token has to be replaced (spec §1: about 5 minutes), less what a request may take. */
const LEAD_MS = 300_000 - 3000;
/** Milliseconds by which a socket's handshake is later than the token that was taken for it. */
const SOCKET_MS = 300;
/** The longest that a tab waits for another one's refresh is 12 s (exclusive.ts): what hangs for longer may be overtaken. */
const PATIENCE_MS = 10_000;

/** Whoever waited for it gives up at the same time as it does: after a sleep all of their timers are due. */
const AFTER_HANGING_MS = 2000;

const isRefresh = ({ method, path }: Seen): boolean => method === 'POST' && path === '/oauth2/refresh';

/** Whether a time touches another. */
const touches = (from: number, to: number) => (trouble: Trouble) =>
  trouble.from <= to && (trouble.to ?? Infinity) >= from;

/**
 * Requests and handshakes with a stale token that could have had a fresh one. Stale: when the application asked for it, its token
 * had ended or was to end within the five minutes, by the true clock. A fresh one could have been had unless there was
 * trouble at some moment between that (or the begin of the browser's refresh that was under way then, which it waited for) and the
 * arrival of the request: so what was under way when its token ended, or while the device slept, is excused. So is the time for
 * which the service had told the browser to wait (at least a second, after an error).
 * @param trueTime of a moment of the machine's clock; both in milliseconds
 */
export function staleRequests(
  seen: readonly Seen[],
  troubles: readonly Trouble[],
  trueTime: (moment: number) => number,
): Seen[] {
  const refreshes = seen.filter(isRefresh);
  const waits = refreshes
    .filter(({ status }) => status === 400 || status === 429 || status! >= 500)
    .map(({ at, ended, retryAfter = 0 }) => ({
      from: at,
      to: (ended ?? at) + Math.max(1, retryAfter) * 1000,
    }));
  const all = [...troubles, ...waits];
  return seen.filter((one) => {
    if (one.exp === undefined || isRefresh(one)) return false;
    const begun = one.method === 'WS' ? one.begun - SOCKET_MS : one.begun;
    if (one.exp * 1000 - trueTime(begun) >= LEAD_MS) return false;
    const waited = refreshes.filter(({ at, ended = Infinity }) => at <= begun && ended >= begun);
    const from = Math.min(begun, ...waited.map(({ at }) => at));
    return !all.some(touches(from, one.at));
  });
}

/** Refreshes that began while another one of the same browser was under way, and what they were. */
export interface Overlaps {
  /** Two at once, for no reason. */
  readonly overlaps: readonly (readonly [Seen, Seen])[];
  /** The same request, which the browser sent again. */
  readonly resent: number;
  /** The other one, or one that had just been given up, had hung for longer than a tab waits for it, by the device's clock. */
  readonly overtaken: number;
}

/** @param deviceTime of a moment of the machine's clock: it goes on while the device sleeps */
export function overlapping(seen: readonly Seen[], deviceTime: (moment: number) => number): Overlaps {
  const overlaps: (readonly [Seen, Seen])[] = [];
  let [resent, overtaken] = [0, 0];
  const refreshes = seen.filter(isRefresh);
  for (const [n, later] of refreshes.entries()) {
    for (const earlier of refreshes.slice(0, n)) {
      if (later.proof && earlier.proof === later.proof) {
        resent++;
        continue;
      }
      if ((earlier.ended ?? Infinity) <= later.at) continue;
      const hung = refreshes.some(
        ({ at, ended = Infinity }) =>
          deviceTime(Math.min(ended, later.at)) - deviceTime(at) >= PATIENCE_MS &&
          ended >= earlier.at - AFTER_HANGING_MS,
      );
      if (hung) overtaken++;
      else overlaps.push([earlier, later]);
    }
  }
  return { overlaps, resent, overtaken };
}

/** What is wrong with the events that a tab got: undefined when each came once, in order. @param pushed offsets, in any order */
export function wrongEvents(
  first: number,
  got: readonly number[],
  pushed: ReadonlySet<number>,
): string | undefined {
  const sorted = got.toSorted((a, b) => a - b);
  if (new Set(got).size < got.length) return `twice: ${got.join()}`;
  if (sorted.join() !== got.join()) return `out of order: ${got.join()}`;
  const missing = [...pushed].filter((offset) => offset > first && !got.includes(offset));
  return missing.length > 0 ? `never: ${missing.join()}` : undefined;
}

import { isResent, ON_ITS_WAY_MS, type Seen } from './seen.js';

/**
 * A time in which a fresh token could not be had, or in which nobody could know that one was needed. Machine's clock, milliseconds.
 */
export interface Trouble {
  readonly what: string;
  readonly from: number;
  /** Absent: it goes on. */
  to?: number;
}

/** A tab was frozen. Machine's clock, milliseconds. */
export interface Freeze {
  readonly from: number;
  /** Since when it may go on, though the test has not seen that yet. */
  thawing?: number;
  to?: number;
}

/**
 * The clock of the service is turned, and then the device's: for as long as that takes, a token has ended of which the device believes
 * that it has not. Once its clock has moved as well, it can know.
 */
export const TIME_PASSES = 'the clock was being turned';

/**
 * The longest that a tab waits for others' refreshes (exclusive.ts), in two parts, the second of which begins when the first is over by
 * the clock of its timers. Both half a second less: the first request arrives later than the wait for it begins. Milliseconds.
 */
const [PATIENCE_MS, GRACE_MS] = [10_500, 500];
/** After one tab has let go, the next attempt, its own or that of the next in line, arrives within this time. */
const NEXT_ATTEMPT_MS = 500;
/** Milliseconds until the gate notices that the browser has given a request up; its next one may arrive before that. */
const GIVEN_UP_MS = 100;

const isRefresh = ({ method, path }: Seen): boolean => method === 'POST' && path === '/oauth2/refresh';

/** Refreshes that began while another one of the same browser was under way, and what they were. */
export interface Overlaps {
  /** Two at once, for no reason. */
  readonly overlaps: readonly (readonly [Seen, Seen])[];
  /** The same request, which the browser sent again. */
  readonly resent: number;
  /**
   * Those where the other one, or one that had just been given up, had hung for longer than a tab waits for it, by the device's clock;
   * also where the other one was just answered.
   */
  readonly overtaken: ReadonlySet<Seen>;
}

/**
 * @param deviceTime of a moment of the machine's clock, by the clock of the device's timers: it may stand still while it sleeps
 * @param freezes of tabs: one that was overtaken meanwhile goes on when it is thawed
 */
export function overlapping(
  seen: readonly Seen[],
  deviceTime: (moment: number) => number,
  freezes: readonly Freeze[] = [],
): Overlaps {
  const overlaps: (readonly [Seen, Seen])[] = [];
  const overtaken = new Set<Seen>();
  let resent = 0;
  const refreshes = seen.filter(isRefresh);
  for (const [n, later] of refreshes.entries()) {
    for (const earlier of refreshes.slice(0, n)) {
      if (isResent(earlier, later)) {
        resent++;
        continue;
      }
      if (hasEnded(earlier, later.at)) {
        // Both were to be next: one by its turn, the other because it had waited too long. So near to each other is the same as at once.
        const isNear = later.at - earlier.ended! <= ON_ITS_WAY_MS;
        if (isNear && hasHelped(earlier) && isOverdue(earlier, later.at)) overtaken.add(later);
        continue;
      }
      if (isOverdue(earlier, later.at) || [earlier, later].some(isThawed)) overtaken.add(later);
      else overlaps.push([earlier, later]);
    }
  }
  return { overlaps, resent, overtaken };

  /** Whether somebody who has waited since this one began, or since those began that it followed at once, may overtake it. */
  function isOverdue(one: Seen, now: number): boolean {
    const before = refreshes.findLast(
      (other) =>
        other.at < one.at &&
        hasEnded(other, one.at) &&
        deviceTime(other.ended!) >= deviceTime(one.at) - NEXT_ATTEMPT_MS &&
        !hasHelped(other),
    );
    if (before && isOverdue(before, now)) return true;
    let grace = one.at;
    while (grace < now && deviceTime(grace) - deviceTime(one.at) < PATIENCE_MS) grace++;
    return deviceTime(now) - deviceTime(grace) >= GRACE_MS;
  }

  /** Whether it may be of a tab that has just been thawed, and was frozen for longer than others wait for it. */
  function isThawed({ at }: Seen): boolean {
    return freezes.some(
      ({ from, to = Infinity, thawing = to }) =>
        at >= thawing && at <= to + ON_ITS_WAY_MS && deviceTime(at) - deviceTime(from) >= PATIENCE_MS,
    );
  }

  /** Whether nobody has to wait any more: there is a new token, and its answer was not long on its way. */
  function hasHelped({ at, ended = Infinity, status, delivered }: Seen): boolean {
    return status === 200 && delivered !== false && deviceTime(ended) - deviceTime(at) < PATIENCE_MS;
  }
}

/** Whether a refresh was over at a moment. One that was given up was so a little earlier than the gate saw it. */
function hasEnded({ ended = Infinity, delivered }: Seen, moment: number): boolean {
  return ended <= moment + (delivered === false ? GIVEN_UP_MS : 0);
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

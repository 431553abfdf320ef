import { isResent, ON_ITS_WAY_MS, type Seen } from './seen.js';

export interface Trouble {
  readonly what: string;
  readonly from: number;
  to?: number;
}

/** A tab was frozen. Machine's clock, milliseconds. */
export interface Freeze {
  readonly from: number;
  thawing?: number;
  to?: number;
}

export const TIME_PASSES = 'the clock was being turned';

const [PATIENCE_MS, GRACE_MS] = [10_500, 500];
/** After one tab has let go, the next attempt, its own or that of the next in line, arrives within this time. */
const NEXT_ATTEMPT_MS = 500;
/** Milliseconds until the gate notices that the browser has given a request up; its next one may arrive before that. */
const GIVEN_UP_MS = 100;

export const isRefresh = ({ method, path }: Seen): boolean => method === 'POST' && path === '/oauth2/refresh';

/**
 * Refreshes that were under way at once, for no reason.
 * @param deviceTime of a moment of the machine's clock, by the clock of the device's timers: it may stand still while it sleeps
 * @param freezes of tabs: one that was overtaken meanwhile goes on when it is thawed
 */
export function overlapping(
  seen: readonly Seen[],
  deviceTime: (moment: number) => number,
  freezes: readonly Freeze[] = [],
): (readonly [Seen, Seen])[] {
  const refreshes = seen.filter(isRefresh);
  return refreshes.flatMap((later, n) =>
    refreshes
      .slice(0, n)
      .filter((earlier) => !isResent(earlier, later) && !hasEnded(earlier, later.at))
      .filter((earlier) => !isOverdue(earlier, later.at) && ![earlier, later].some(isThawed))
      .map((earlier) => [earlier, later] as const),
  );

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

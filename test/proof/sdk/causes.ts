import { refusedBefore } from './refusals.js';
import { ON_ITS_WAY_MS, type Seen, type Span } from './seen.js';

/** What can make a browser ask for another token before the time of the one that it has has come. Machine's clock, milliseconds. */
export interface Happenings {
  /** The device's clock was set: by how much, forward or back. */
  readonly clockSets: readonly { readonly at: number; readonly by: number }[];
  /** The key that signs was withdrawn. */
  readonly withdrawals: readonly { readonly from: number; readonly to: number }[];
  /** A tab was frozen: an answer that came then is stored when it is thawed, perhaps over a newer one. */
  readonly freezes: readonly Span[];
  /** The clock of service and device was being turned. */
  readonly turns: readonly Span[];
  /** A tab was closed, or loaded again: it may have got an answer that it did not store any more. */
  readonly left: readonly Span[];
  /** Refreshes that began because the one that they waited for hung. */
  readonly overtaken: ReadonlySet<Seen>;
}

export type Cause =
  | 'its time had come'
  | 'one that hung was overtaken'
  | 'the key was withdrawn'
  | 'the clock had been set back'
  | 'the answer came to a frozen tab'
  | 'the answer came to a tab that was gone';

/** For how long a token is used before it is replaced: an hour less five and a half minutes; less a second of rounding. */
const SHORTEST_USE_MS = 54.5 * 60_000 - 1000;
/** Instances sign with a withdrawn key until they have read that it is (contract §5: within a second). */
const KNOWN_MS = 1000;
/** From the end of an answer until the browser has stored its token. */
const STORED_MS = 100;

const isPost = ({ method, path }: Seen, ...paths: string[]): boolean =>
  method === 'POST' && paths.includes(path);

/**
 * Why the browser made each refresh that was answered with a token: with respect to the last token that it got before that, which is
 * no longer than 54.5 minutes old, unless its time has come. Each of the others happens once, and explains one.
 * @param trueTime of a moment of the machine's clock, in milliseconds
 * @returns undefined where nothing explains it
 */
export function causes(
  seen: readonly Seen[],
  trueTime: (moment: number) => number,
  { clockSets, withdrawals, freezes, turns, left, overtaken }: Happenings,
): Map<Seen, Cause | undefined> {
  const found = new Map<Seen, Cause | undefined>();
  const used = new Set<object>();
  /** Whether one of them was between, and has explained nothing yet. */
  const oneOf = <One extends object>(all: readonly One[], isBetween: (one: One) => boolean): boolean => {
    const one = all.find((other) => !used.has(other) && isBetween(other));
    if (one) used.add(one);
    return one !== undefined;
  };
  const posts = seen.filter((one) => isPost(one, '/oauth2/refresh', '/oauth2/token'));
  let before: Seen | undefined;
  for (const one of posts) {
    if (one.status !== 200) continue;
    const last = before;
    if (one.delivered !== false) before = one;
    if (!last || isPost(one, '/oauth2/token')) continue;
    const forward = clockSets.filter(({ at, by }) => by > 0 && at >= last.at && at <= one.at);
    const age =
      trueTime(one.at) - begin(last, posts, trueTime, turns) + forward.reduce((sum, { by }) => sum + by, 0);
    const cause = (): Cause | undefined => {
      if (age >= SHORTEST_USE_MS) return 'its time had come';
      const attempt = refusedBefore(one, posts) ?? one;
      if (overtaken.has(one) || overtaken.has(attempt)) return 'one that hung was overtaken';
      if (oneOf(withdrawals, ({ from, to }) => from <= one.at && to + KNOWN_MS >= last.at))
        return 'the key was withdrawn';
      // Or the last one's time was taken before that, and it was sent after it: its token is of a time to come.
      if (oneOf(clockSets, ({ at, by }) => by < 0 && at >= last.at - ON_ITS_WAY_MS && at <= one.at))
        return 'the clock had been set back';
      const answered = posts.slice(0, posts.indexOf(last) + 1).filter(({ status }) => status === 200);
      const cameWithin = ({ from, to = Infinity }: Span): boolean =>
        answered.some(({ ended = Infinity }) => ended >= from && ended <= to + STORED_MS);
      if (oneOf(freezes, (freeze) => (freeze.to ?? Infinity) >= last.at && cameWithin(freeze)))
        return 'the answer came to a frozen tab';
      if (oneOf(left, ({ from, to = Infinity }) => last.ended! >= from - STORED_MS && last.at <= to))
        return 'the answer came to a tab that was gone';
      return undefined;
    };
    found.set(one, cause());
  }
  return found;
}

/**
 * The true time at which the browser began to ask for a token, from which it counts the token's age: that of the first proof, if more
 * than one was needed; before the clock was turned, if it was between that proof and its arrival.
 */
function begin(
  one: Seen,
  posts: readonly Seen[],
  trueTime: (moment: number) => number,
  turns: Happenings['turns'],
): number {
  const own = Math.min(one.proved ?? Infinity, trueTime(one.at));
  const first = refusedBefore(one, posts);
  if (!first) return own;
  const turn = turns.find(({ from, to = Infinity }) => from <= first.at && to >= first.at - ON_ITS_WAY_MS);
  return Math.min(own, trueTime(first.at), turn ? trueTime(turn.from) : Infinity);
}

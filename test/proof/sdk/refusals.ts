import { isResent, ON_ITS_WAY_MS, type Seen, type Span } from './seen.js';

/** Why a request was refused, as far as it is known. */
export type Reason =
  | 'its key was withdrawn'
  | 'its token had ended'
  | 'the gate sent the proof twice'
  | 'the browser sent the proof again'
  | 'the proof was of another time';

/** What can make a device's clock another one than the service's. Machine's clock, milliseconds. */
export interface Clocks {
  /** Somebody set the device's. */
  readonly clockSets: readonly { readonly at: number }[];
  /** Both were being turned. */
  readonly turns: readonly Span[];
  /** A tab was frozen. The test sets its clock a moment after it was thawed. */
  readonly freezes: readonly Span[];
}

/** A proof has whole seconds. */
const MADE_BEFORE_MS = 3000;
/** A refused proof is followed by another one at once, and a failed attempt by another one after a second: milliseconds. */
const NEXT_PROOF_MS = 900;

/**
 * The request that was refused for its proof, so that this one was made: the first of two, of which a client makes no third (post.ts),
 * so what follows a second is another tab's. @param posts in their order, with others or without
 */
export function refusedBefore(one: Seen, posts: readonly Seen[]): Seen | undefined {
  const before = posts
    .slice(0, posts.indexOf(one))
    .findLast(({ path, method }) => path === one.path && method === one.method);
  if (!before?.refusal?.startsWith('invalid_dpop_proof') || before.proof === one.proof) return undefined;
  if (before.delivered === false || one.at - before.ended! >= NEXT_PROOF_MS) return undefined;
  return refusedBefore(before, posts) ? undefined : before;
}

/** A token younger than this is not exchanged when it is refused (bearer-fetch.ts): seconds, and a few more for clocks. */
const YOUNG_S = 65;
/** Seconds: so long lives a token. */
const LIFE_S = 3600;
/** Milliseconds for which a client spares the service after a refresh that failed. */
const PAUSE_MS = 1500;

/**
 * Whether the client had to ask again with another token, and did not. Refused for its key, a token of more than a minute is exchanged;
 * the application gets the refusal only where no other token could be had: there was trouble, or a refresh failed. A request is sent
 * twice at most: the second refusal is the application's, too, where the clocks were turned since it was made.
 * @param one a request of which the application got the 401
 * @param told when it got that
 * @param troubles in which no token could be had
 * @param turns of the clocks
 */
export function isUnexchanged(
  one: Seen,
  told: number,
  seen: readonly Seen[],
  troubles: readonly Span[],
  turns: readonly Span[],
  trueTime: (moment: number) => number,
): boolean {
  const { exp = 0, at, begun, ended: refused = at } = one;
  const sent = seen.filter(
    (other) => other.begun === begun && other.path === one.path && other.status === 401,
  );
  if (sent.at(-1) !== one) return false; // it was exchanged, and the next one is judged
  const isSecond = sent.length > 1;
  if (isSecond && turns.some(({ from, to = Infinity }) => from <= refused && to >= begun)) return false;
  if (trueTime(refused) / 1000 - (exp - LIFE_S) < YOUNG_S) return false;
  const hasFailed = seen.some(
    ({ method, status, delivered, at: came, ended = Infinity }) =>
      method === 'POST' && (status !== 200 || !delivered) && came <= told && ended >= refused - PAUSE_MS,
  );
  return !hasFailed && !troubles.some(({ from, to = Infinity }) => from <= told && to >= refused);
}

/** Expiry is in whole seconds. */
const SECOND_MS = 1000;

/**
 * Why each request with a token was answered with 401, and each refresh with `invalid_dpop_proof`. A proof may be of another time where
 * the device's clock was ever set, or it was made right before both were turned. The second proof of an attempt, for which the
 * answer to the first one has told the time, only where one of these happened
 * in between.
 * @param trueTime of a moment of the machine's clock, in milliseconds
 * @param withdrawn names of keys
 * @returns undefined where nothing explains it
 */
export function refusals(
  seen: readonly Seen[],
  trueTime: (moment: number) => number,
  withdrawn: ReadonlySet<string>,
  { clockSets, turns, freezes }: Clocks,
): Map<Seen, Reason | undefined> {
  const found = new Map<Seen, Reason | undefined>();
  for (const one of seen) {
    if (one.status === 401) found.set(one, ofToken(one));
    else if (one.refusal?.startsWith('invalid_dpop_proof')) found.set(one, ofProof(one));
  }
  return found;

  function ofToken({ exp, kid = '', at, ended = at }: Seen): Reason | undefined {
    if (exp === undefined) return undefined; // it had none
    if (withdrawn.has(kid)) return 'its key was withdrawn';
    return exp * 1000 < trueTime(ended) + SECOND_MS ? 'its token had ended' : undefined;
  }

  function ofProof(one: Seen): Reason | undefined {
    if (one.refusal!.includes('within the last minute'))
      return canBeOfAnotherTime(one) ? 'the proof was of another time' : undefined;
    if (one.twice) return 'the gate sent the proof twice';
    const before = seen.slice(0, seen.indexOf(one));
    return before.some((other) => isResent(other, one)) ? 'the browser sent the proof again' : undefined;
  }

  function canBeOfAnotherTime(one: Seen): boolean {
    const { at, ended = at, proved = NaN } = one;
    const first = refusedBefore(one, seen);
    const turned = (since: number): Clocks['turns'] =>
      turns.filter(({ from, to = Infinity }) => from <= ended && to >= since - ON_ITS_WAY_MS);
    if (turned(at).some(({ from }) => Math.abs(proved - trueTime(from)) < MADE_BEFORE_MS)) return true;
    const overslept = freezes.some(
      ({ from, to = Infinity }) =>
        at >= to && at - to < ON_ITS_WAY_MS && turns.some((turn) => turn.from >= from && turn.from <= to),
    );
    if (overslept) return true;
    const sets = clockSets.filter((set) => set.at <= ended);
    if (sets.length === 0 || !first) return sets.length > 0;
    return turned(first.at).length > 0 || sets.some((set) => set.at >= first.at - ON_ITS_WAY_MS);
  }
}

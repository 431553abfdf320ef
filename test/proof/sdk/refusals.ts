import type { Seen } from './seen.js';

/** Why a request was refused, as far as it is known. */
export type Reason =
  | 'its key was withdrawn'
  | 'its token had ended'
  | 'the gate sent the proof twice'
  | 'the browser sent the proof again'
  | 'the proof was of another time';

/** A refused proof is followed by another one at once, and a failed attempt by another one after a second: milliseconds. */
const NEXT_PROOF_MS = 900;

/** The request that was refused for its proof, so that this one was made. @param posts in their order, with others or without */
export function refusedBefore(one: Seen, posts: readonly Seen[]): Seen | undefined {
  const before = posts
    .slice(0, posts.indexOf(one))
    .findLast(({ path, method }) => path === one.path && method === one.method);
  if (!before?.refusal?.startsWith('invalid_dpop_proof') || before.proof === one.proof) return undefined;
  return one.at - before.ended! < NEXT_PROOF_MS ? before : undefined;
}

/** Expiry is in whole seconds. */
const SECOND_MS = 1000;

/**
 * Why each request with a token was answered with 401, and each refresh with `invalid_dpop_proof`.
 * @param trueTime of a moment of the machine's clock, in milliseconds
 * @param withdrawn names of keys
 * @returns undefined where nothing explains it
 */
export function refusals(
  seen: readonly Seen[],
  trueTime: (moment: number) => number,
  withdrawn: ReadonlySet<string>,
): Map<Seen, Reason | undefined> {
  const proofs = new Set<string>();
  const found = new Map<Seen, Reason | undefined>();
  for (const one of seen) {
    const isAgain = one.proof !== undefined && proofs.has(one.proof);
    if (one.proof !== undefined) proofs.add(one.proof);
    if (one.status === 401) found.set(one, ofToken(one));
    else if (one.refusal?.startsWith('invalid_dpop_proof')) found.set(one, ofProof(one, isAgain));
  }
  return found;

  function ofToken({ exp = 0, kid = '', at, ended = at }: Seen): Reason | undefined {
    if (withdrawn.has(kid)) return 'its key was withdrawn';
    return exp * 1000 < trueTime(ended) + SECOND_MS ? 'its token had ended' : undefined;
  }

  function ofProof({ refusal, twice }: Seen, isAgain: boolean): Reason | undefined {
    if (refusal!.includes('within the last minute')) return 'the proof was of another time';
    if (twice) return 'the gate sent the proof twice';
    return isAgain ? 'the browser sent the proof again' : undefined;
  }
}

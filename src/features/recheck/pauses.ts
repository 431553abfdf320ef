/** Seconds before the second attempt; each later pause is twice as long. */
const SHORTEST_S = 10;
const LONGEST_S = 600;

/**
 * Returns when a provider that did not answer is asked about a user again: in growing pauses, and once more
 * when the grace ends. Up to a fifth of a pause is random, so that many users do not become due at once.
 * @param attempts that have failed before this one
 * @param now milliseconds
 */
export function nextAttempt(
  attempts: number,
  now: number,
  failingSince: Date,
  graceS: number,
  random = Math.random(),
): Date {
  const pause = Math.min(SHORTEST_S * 2 ** Math.min(attempts, 10), LONGEST_S) * (1 - random / 5);
  const graceEnd = failingSince.getTime() + 1000 * graceS;
  return new Date(Math.min(now + 1000 * pause, Math.max(graceEnd, now)));
}

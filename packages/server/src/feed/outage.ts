const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;
const LONGEST_RETRY_AFTER_S = 30;

/**
 * Milliseconds until the next connection, at random, so that processes do not reconnect at once.
 * @param failures consecutive ones, at least 1
 * @param retryAfter seconds of `Retry-After`
 */
export function pauseAfter(failures: number, retryAfter = 0): number {
  const longest = Math.min(FIRST_PAUSE_MS * 2 ** Math.max(0, failures - 1), LONGEST_PAUSE_MS);
  const requested = Math.min(retryAfter, LONGEST_RETRY_AFTER_S) * 1000;
  return Math.max(longest, requested || 0) * (0.5 + Math.random() / 2);
}

/** Returns the reason of a failed connection, for a warning. */
export function reasonOf(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { code?: string } };
  return [message, cause?.code].filter(Boolean).join(' ');
}

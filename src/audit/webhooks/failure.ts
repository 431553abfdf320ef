import { errorReason } from '../../platform/errors/error-facts.js';
import type { Answer } from '../../platform/http/foreign/foreign-http.js';

/** Statuses with a meaning of their own: Request Timeout, Gone, Too Many Requests. */
const [TIMEOUT, GONE, TOO_MANY] = [408, 410, 429];
const UNAVAILABLE = 503;

const MOST_WAIT_S = 3600;
const SECONDS = /^\d{1,9}$/;

/** Why an event was not accepted (docs/webhooks.md#what-happens-if-). */
export interface Failure {
  /** For people. */
  readonly reason: string;
  /** The receiver refuses this event: another attempt will hardly help. */
  readonly isRefusal: boolean;
  /** The receiver does not want any event. */
  readonly isGone: boolean;
  /** Seconds that the receiver asks for; 0: none. */
  readonly waitS: number;
}

/** @param now milliseconds since the epoch @returns undefined for an event that was accepted */
export function toFailure({ status, retryAfter }: Omit<Answer, 'body'>, now: number): Failure | undefined {
  if (status >= 200 && status < 300) return undefined;
  const isRefusal = status >= 400 && status < 500 && ![TIMEOUT, GONE, TOO_MANY].includes(status);
  const waitS = status === TOO_MANY || status === UNAVAILABLE ? parseRetryAfter(retryAfter, now) : 0;
  return { reason: `status ${status}`, isRefusal, isGone: status === GONE, waitS };
}

export function toFailureWithoutAnswer(error: unknown): Failure {
  return { reason: errorReason(error), isRefusal: false, isGone: false, waitS: 0 };
}

/** Reads a `Retry-After` (RFC 9110 §10.2.3), up to an hour; 0 if there is none, or it is unreadable. */
function parseRetryAfter(retryAfter = '', now: number): number {
  const text = retryAfter.trim();
  const seconds = SECONDS.test(text) ? Number(text) : (Date.parse(text) - now) / 1000;
  return Number.isNaN(seconds) ? 0 : Math.min(Math.max(0, seconds), MOST_WAIT_S);
}

import { temporarilyUnavailable, type LatchkeyError } from '../latchkey-error.js';
import type { UserClaims } from '../token/user-claims.js';
import { CallQueue } from './call-queue.js';
import type { ServiceCalls } from './service-calls.js';

/** Lifetime of an answer, from the request. */
const COUNTS_MS = 1000;
/** A later answer is outdated (3 s if network or database stall). */
const TIMEOUT_MS = 2500;
const MOST_ANSWERS = 10_000;
/** Errors that say nothing about the token. */
const OF_THE_SERVICE: ReadonlySet<string> = new Set(['temporarily_unavailable', 'service_key_refused']);

/**
 * The service's answer about a token (RFC 7662 §2.2), with the user's current claims. All members but `active` exist only if the token
 * is valid.
 */
export interface Introspection extends UserClaims {
  readonly active: boolean;
  readonly sub?: string;
  readonly sid?: string;
  readonly device_id?: string;
  readonly jti?: string;
  readonly iat?: number;
  readonly exp?: number;
  readonly auth_time?: number;
  readonly acr?: string;
  readonly amr?: readonly string[];
  readonly iss?: string;
  readonly aud?: string;
  readonly token_type?: 'Bearer' | 'refresh_token';
}

interface Question {
  readonly sentAt: number;
  readonly answer: Promise<Introspection>;
}

/** Introspects tokens, each at most once a second. */
export class Introspector {
  /** By token, oldest first. */
  private readonly questions = new Map<string, Question>();
  private readonly queue = new CallQueue();

  constructor(private readonly calls: ServiceCalls) {}

  /**
   * Returns the service's answer about a token; calls within a second share it.
   * @throws LatchkeyError `temporarily_unavailable` without an answer; `service_key_refused`
   */
  ask(token: string): Promise<Introspection> {
    const now = performance.now();
    const earlier = this.questions.get(token);
    if (earlier && now - earlier.sentAt < COUNTS_MS) return earlier.answer;
    this.removeOld(now);
    const question = { sentAt: now, answer: this.queue.run(() => this.call(token, now + TIMEOUT_MS)) };
    this.questions.delete(token); // so that the new one is the last
    this.questions.set(token, question);
    // A failure is not an answer: the next call asks again.
    question.answer.catch(() => this.questions.get(token) === question && this.questions.delete(token));
    return question.answer;
  }

  private async call(token: string, deadline: number): Promise<Introspection> {
    const timeoutMs = Math.floor(deadline - performance.now());
    if (timeoutMs <= 0) throw temporarilyUnavailable();
    const call = { right: 'read', body: { token }, timeoutMs, isRepeatable: true } as const;
    const answer = await this.calls
      .send<Introspection>('/oauth2/introspect', call)
      .catch((error: LatchkeyError) => {
        throw OF_THE_SERVICE.has(error.code) ? error : temporarilyUnavailable(error);
      });
    if (typeof answer.active !== 'boolean') throw temporarilyUnavailable();
    return answer;
  }

  private removeOld(now: number): void {
    for (const [token, { sentAt }] of this.questions) {
      if (now - sentAt < COUNTS_MS && this.questions.size < MOST_ANSWERS) return;
      this.questions.delete(token);
    }
  }
}

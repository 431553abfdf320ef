import type { Introspection } from './introspection.js';
import { temporarilyUnavailable, type LatchkeyError } from './latchkey-error.js';
import type { ServiceCalls } from './service-calls.js';

/** Lets so many calls run at a time; the rest waits, up to a number. */
class Turns {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(
    private readonly atATime: number,
    private readonly mostWaiting: number,
  ) {}

  /** @throws LatchkeyError `temporarily_unavailable` when too many wait */
  async take<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.running < this.atATime) this.running++;
    else if (this.waiting.length >= this.mostWaiting) throw temporarilyUnavailable();
    else await new Promise<void>((resolve) => this.waiting.push(resolve)); // the turn is handed over
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.running--;
    }
  }
}

/** An answer counts so long (contract §8), from when it was asked for. */
const COUNTS_MS = 1000;
/** One that comes later says too little about now (contract §8: 3 s where network or database stall). */
const TIMEOUT_MS = 2500;
const CALLS_AT_A_TIME = 100;
const MOST_WAITING = 10_000;
const MOST_ANSWERS = 10_000;
/** Errors that say nothing about the token. */
const OF_THE_SERVICE: ReadonlySet<string> = new Set(['temporarily_unavailable', 'service_key_refused']);

interface Question {
  readonly askedAt: number;
  readonly answer: Promise<boolean>;
}

/** Asks the service about tokens, once a second for each. */
export class Introspector {
  /** By the whole text of the token, oldest first. */
  private readonly questions = new Map<string, Question>();
  private readonly turns = new Turns(CALLS_AT_A_TIME, MOST_WAITING);

  constructor(private readonly calls: ServiceCalls) {}

  /**
   * Whether the token is good; for requests of the same second it is asked once.
   * @throws LatchkeyError `temporarily_unavailable` without an answer; `service_key_refused`
   */
  isActive(token: string): Promise<boolean> {
    const now = performance.now();
    const asked = this.questions.get(token);
    if (asked && now - asked.askedAt < COUNTS_MS) return asked.answer;
    this.forgetOld(now);
    const question = { askedAt: now, answer: this.turns.take(() => this.ask(token, now + TIMEOUT_MS)) };
    this.questions.delete(token); // so that the new one is the last
    this.questions.set(token, question);
    // No answer does not count: the next request asks again.
    question.answer.catch(() => this.questions.get(token) === question && this.questions.delete(token));
    return question.answer;
  }

  private async ask(token: string, deadline: number): Promise<boolean> {
    const timeoutMs = Math.floor(deadline - performance.now());
    if (timeoutMs <= 0) throw temporarilyUnavailable();
    const call = { right: 'read', body: { token }, timeoutMs, isRepeatable: true } as const;
    const { active } = await this.calls
      .post<Introspection>('/oauth2/introspect', call)
      .catch((error: LatchkeyError) => {
        throw OF_THE_SERVICE.has(error.code) ? error : temporarilyUnavailable(error);
      });
    if (typeof active !== 'boolean') throw temporarilyUnavailable();
    return active;
  }

  private forgetOld(now: number): void {
    for (const [token, { askedAt }] of this.questions) {
      if (now - askedAt < COUNTS_MS && this.questions.size < MOST_ANSWERS) return;
      this.questions.delete(token);
    }
  }
}

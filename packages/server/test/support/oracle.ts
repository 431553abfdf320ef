import { setTimeout as delay } from 'node:timers/promises';
import { signIn } from '../../../../test/support/sign-in.js';

/** How an API answers a token: the HTTP status. */
export type Ask = (token: string) => Promise<number>;

const MOST_OPEN = 500;

interface Seen {
  readonly token: string;
  readonly status: number;
  readonly began: number;
  readonly ended: number;
}

/**
 * Asks an API about tokens of living and ended sessions all the time, and judges each answer: a good token is never
 * refused, and an ended one not accepted for longer than the bound after the answer to its sign-out (contract §8).
 */
export class Oracle {
  private readonly seen: Seen[] = [];
  /** When the sign-out of a token's session was asked for. */
  private readonly signOutAt = new Map<string, number>();
  /** When it was answered. */
  private readonly signedOutAt = new Map<string, number>();
  private readonly tokens: string[] = [];
  private readonly end = new AbortController();
  private work: Promise<void> | undefined;

  constructor(private readonly ask: Ask) {}

  /** Signs in at the service, so many times, and begins to ask. */
  async begin(serviceUrl: string, sessions: number): Promise<void> {
    const all = await Promise.all(Array.from({ length: sessions }, () => signIn(serviceUrl)));
    this.begunWith(all.map(({ access_token: token }) => token));
  }

  begunWith(tokens: readonly string[]): void {
    this.tokens.push(...tokens);
    this.work = this.run();
  }

  /** Signs out one session that lives, at the service itself. */
  async signOut(serviceUrl: string): Promise<string> {
    const token = this.tokens.find((one) => !this.signedOutAt.has(one))!;
    const headers = { Authorization: `Bearer ${token}` };
    const began = performance.now();
    const { status } = await fetch(`${serviceUrl}/sign-out`, { method: 'POST', headers });
    if (status !== 204) throw new Error(`a sign-out was answered with ${status}`);
    this.signOutAt.set(token, began);
    this.signedOutAt.set(token, performance.now());
    return token;
  }

  /** The newest answer to a living session's token. */
  get lastOfLiving(): number | undefined {
    return this.seen.findLast(({ token }) => !this.signedOutAt.has(token))?.status;
  }

  /** Whether each ended session's token is refused now. */
  get allEndedRefused(): boolean {
    return [...this.signedOutAt.keys()].every(
      (one) => this.seen.findLast(({ token }) => token === one)?.status === 401,
    );
  }

  /** How often a living session's token was refused, and was answered with 503; and the worst lateness, in ms. */
  async verdict(): Promise<{
    answers: number;
    goodRefused: number;
    unavailable: number;
    late: number;
    other: number;
  }> {
    this.end.abort();
    await this.work;
    const living = this.seen.filter(({ token, ended }) => ended < (this.signedOutAt.get(token) ?? Infinity));
    // While the sign-out is under way, both answers are right.
    const ofGood = living.filter(({ token }) => !this.signedOutAt.has(token));
    // A call from before may have been judged before, too, by a process that was stopped when it was to write its answer.
    const accepted = this.seen.filter(
      ({ token, status, began }) => status === 200 && began > (this.signOutAt.get(token) ?? Infinity),
    );
    const late = accepted.map(({ token, ended }) => ended - this.signedOutAt.get(token)!);
    return {
      answers: this.seen.length,
      goodRefused: ofGood.filter(({ status }) => status === 401).length,
      unavailable: ofGood.filter(({ status }) => status === 503).length,
      late: Math.max(0, ...late),
      other: this.seen.filter(({ status }) => ![200, 401, 503].includes(status)).length,
    };
  }

  /** Each token every 20 ms or so, not waiting for one that hangs. */
  private async run(): Promise<void> {
    const open = new Set<Promise<void>>();
    while (!this.end.signal.aborted) {
      for (const token of this.tokens) {
        if (open.size >= MOST_OPEN) break; // nobody answers
        const asking = this.askOne(token).finally(() => open.delete(asking));
        open.add(asking);
      }
      await delay(20);
    }
    await Promise.all(open);
  }

  private async askOne(token: string): Promise<void> {
    const began = performance.now();
    const status = await this.ask(token);
    this.seen.push({ token, status, began, ended: performance.now() });
  }
}

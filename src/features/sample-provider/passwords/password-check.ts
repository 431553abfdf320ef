import { Injectable } from '@nestjs/common';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { ConcurrencyLimit } from '../../../platform/database/limits.js';
import { Accounts, type Account } from '../accounts/accounts.js';
import { verifyPassword } from './password-hash.js';

export interface Attempt {
  readonly login: string;
  /** As `networkOf` has it. */
  readonly network: string;
}

/** Failed passwords a minute (docs/security.md): strangers cannot lock out an owner; hashing is costly. */
const LIMITS = [
  { most: 10, keyOf: ({ network, login }: Attempt) => `${network} ${login}` },
  { most: 30, keyOf: ({ network }: Attempt) => network },
  { most: 100, keyOf: ({ login }: Attempt) => login },
];

/** Counts failed passwords in this instance. Only a password that is hashed adds keys, which bounds them. */
export class FailedPasswords {
  private readonly counts = LIMITS.map((limit) => ({
    ...limit,
    limiter: new RateLimiterMemory({ points: limit.most, duration: 60 }),
  }));

  /** Returns the seconds until the next attempt; counts nothing. */
  async secondsToWait(attempt: Attempt): Promise<number> {
    const waits = this.counts.map(async ({ most, keyOf, limiter }) => {
      const count = await limiter.get(keyOf(attempt));
      return count && count.consumedPoints >= most ? count.msBeforeNext : 0;
    });
    return toSeconds(await Promise.all(waits));
  }

  /**
   * Counts an attempt as failed until `forgive`, so that concurrent attempts cannot exceed a limit.
   * @returns the seconds to wait; if not 0, the attempt is not counted
   */
  async begin(attempt: Attempt): Promise<number> {
    const waits = this.counts.map(async ({ most, keyOf, limiter }) => {
      const count = await limiter.penalty(keyOf(attempt));
      return count.consumedPoints > most ? count.msBeforeNext : 0;
    });
    const seconds = toSeconds(await Promise.all(waits));
    if (seconds > 0) await this.forgive(attempt);
    return seconds;
  }

  /** Undoes `begin` after the right password. */
  async forgive(attempt: Attempt): Promise<void> {
    await Promise.all(this.counts.map(({ keyOf, limiter }) => limiter.reward(keyOf(attempt))));
  }
}

function toSeconds(milliseconds: readonly number[]): number {
  return Math.ceil(Math.max(...milliseconds) / 1000);
}

export type PasswordResult =
  | { readonly kind: 'accepted'; readonly account: Account }
  | { readonly kind: 'refused' }
  | { readonly kind: 'wait'; readonly seconds: number };

const MAX_RUNNING = 2; // half of Node's thread pool, which files and DNS look-ups need as well
const MAX_WAITING = 100;
const MAX_WAITING_PER_NETWORK = 10;

/** Verifies passwords within limits (docs/security.md, sample provider). */
@Injectable()
export class PasswordCheck {
  private readonly failures = new FailedPasswords();
  private readonly limit = new ConcurrencyLimit(MAX_RUNNING);
  /** Networks of the attempts that wait, first come, first served. */
  private readonly waiting: string[] = [];

  constructor(private readonly accounts: Accounts) {}

  /** Beyond a limit even the right password must wait, whether or not the login exists. */
  async verify(attempt: Attempt, password: string): Promise<PasswordResult> {
    const seconds = await this.failures.secondsToWait(attempt);
    if (seconds > 0) return { kind: 'wait', seconds };
    const ofNetwork = this.waiting.filter((network) => network === attempt.network).length;
    if (this.waiting.length >= MAX_WAITING || ofNetwork >= MAX_WAITING_PER_NETWORK)
      return { kind: 'wait', seconds: 1 };
    this.waiting.push(attempt.network);
    return this.limit.run(() => {
      this.waiting.shift();
      return this.tryPassword(attempt, password);
    });
  }

  private async tryPassword(attempt: Attempt, password: string): Promise<PasswordResult> {
    // other attempts may have failed while this one waited
    const seconds = await this.failures.begin(attempt);
    if (seconds > 0) return { kind: 'wait', seconds };
    const matches = await verifyPassword(password, this.accounts.hashOf(attempt.login));
    if (!matches) return { kind: 'refused' };
    await this.failures.forgive(attempt);
    return { kind: 'accepted', account: this.accounts.withLogin(attempt.login)! };
  }
}

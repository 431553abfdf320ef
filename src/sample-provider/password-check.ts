import { Injectable } from '@nestjs/common';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { Accounts, type Account } from './accounts.js';
import { verifyPassword } from './password-hash.js';
import { WorkQueue } from './work-queue.js';

export type PasswordVerdict =
  | { readonly kind: 'accepted'; readonly account: Account }
  | { readonly kind: 'refused' }
  | { readonly kind: 'wait'; readonly seconds: number };

const FAILURES_A_MINUTE = 10;
// Half of Node's thread pool, which the whole process shares: the rest stays free for files and names.
const AT_ONCE = 2;
const WAITING = 50; // about 3 s of work

/** Verifies passwords, and not too many of them (security, sample provider). */
@Injectable()
export class PasswordCheck {
  private readonly failures = new RateLimiterMemory({ points: FAILURES_A_MINUTE, duration: 60 });
  private readonly queue = new WorkQueue(AT_ONCE, WAITING);

  constructor(private readonly accounts: Accounts) {}

  /**
   * Ten failures a minute and login, whether anybody has that login or not; after that even the right password waits.
   * An attempt counts as a failure until it has succeeded, so attempts at the same time cannot outrun the limit.
   */
  async verify(login: string, password: string): Promise<PasswordVerdict> {
    const seconds = await this.secondsToWait(login);
    if (seconds > 0) return { kind: 'wait', seconds };
    const matches = await this.queue.run(() => verifyPassword(password, this.accounts.hashOf(login)));
    if (matches === false) return { kind: 'refused' };
    await this.failures.reward(login);
    if (matches === undefined) return { kind: 'wait', seconds: 1 };
    return { kind: 'accepted', account: this.accounts.withLogin(login)! };
  }

  private async secondsToWait(login: string): Promise<number> {
    try {
      await this.failures.consume(login);
      return 0;
    } catch (rejection) {
      if (!(rejection instanceof RateLimiterRes)) throw rejection;
      return Math.max(1, Math.ceil(rejection.msBeforeNext / 1000));
    }
  }
}

import { Injectable } from '@nestjs/common';
import { Accounts, type Account } from '../accounts/accounts.js';
import { FailedPasswords, type Attempt } from './failed-passwords.js';
import { verifyPassword } from './password-hash.js';
import { WorkQueue } from './work-queue.js';

export type PasswordVerdict =
  | { readonly kind: 'accepted'; readonly account: Account }
  | { readonly kind: 'refused' }
  | { readonly kind: 'wait'; readonly seconds: number };

// Half of Node's thread pool, which the whole process shares: the rest stays free for files and DNS look-ups.
const AT_ONCE = 2;
const WAITING = 100; // about 5 s of work
const WAITING_OF_A_NETWORK = 10;

/** Verifies passwords, within limits (security, sample provider). */
@Injectable()
export class PasswordCheck {
  private readonly failures = new FailedPasswords();
  private readonly queue = new WorkQueue(AT_ONCE, WAITING, WAITING_OF_A_NETWORK);

  constructor(private readonly accounts: Accounts) {}

  /**
   * Beyond a limit even the right password must wait, whether or not the login exists. An attempt beyond a limit is told so
   * at once: it takes no place in the queue, and is not counted.
   */
  async verify(attempt: Attempt, password: string): Promise<PasswordVerdict> {
    const seconds = await this.failures.secondsToWait(attempt);
    if (seconds > 0) return { kind: 'wait', seconds };
    const verdict = await this.queue.run(attempt.network, () => this.tryPassword(attempt, password));
    return verdict ?? { kind: 'wait', seconds: 1 };
  }

  private async tryPassword(attempt: Attempt, password: string): Promise<PasswordVerdict> {
    const seconds = await this.failures.begin(attempt); // other attempts may have failed while this one waited
    if (seconds > 0) return { kind: 'wait', seconds };
    const matches = await verifyPassword(password, this.accounts.hashOf(attempt.login));
    if (!matches) return { kind: 'refused' };
    await this.failures.forgive(attempt);
    return { kind: 'accepted', account: this.accounts.withLogin(attempt.login)! };
  }
}

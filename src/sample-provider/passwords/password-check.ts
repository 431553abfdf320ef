import { Injectable } from '@nestjs/common';
import { Accounts, type Account } from '../accounts/accounts.js';
import { FailedPasswords, type Attempt } from './failed-passwords.js';
import { verifyPassword } from './password-hash.js';

export type PasswordResult =
  | { readonly kind: 'accepted'; readonly account: Account }
  | { readonly kind: 'refused' }
  | { readonly kind: 'wait'; readonly seconds: number };

// Half of Node's thread pool, which files and DNS look-ups need as well.
const MAX_RUNNING = 2;
const MAX_WAITING = 100;
const MAX_WAITING_PER_NETWORK = 10;

/** Verifies passwords within limits (docs/security.md, sample provider). */
@Injectable()
export class PasswordCheck {
  private readonly failures = new FailedPasswords();
  private readonly waiting: { readonly network: string; readonly start: () => void }[] = [];
  private running = 0;

  constructor(private readonly accounts: Accounts) {}

  /** Beyond a limit even the right password must wait, whether or not the login exists. */
  async verify(attempt: Attempt, password: string): Promise<PasswordResult> {
    const seconds = await this.failures.secondsToWait(attempt);
    if (seconds > 0) return { kind: 'wait', seconds };
    if (!(await this.begin(attempt.network))) return { kind: 'wait', seconds: 1 };
    try {
      return await this.tryPassword(attempt, password);
    } finally {
      const next = this.waiting.shift();
      if (next) next.start();
      else this.running--;
    }
  }

  /** Waits for its turn, first come, first served. @returns false if too many wait */
  private async begin(network: string): Promise<boolean> {
    if (this.running < MAX_RUNNING) {
      this.running++;
      return true;
    }
    const ofNetwork = this.waiting.filter((one) => one.network === network).length;
    if (this.waiting.length >= MAX_WAITING || ofNetwork >= MAX_WAITING_PER_NETWORK) return false;
    await new Promise<void>((start) => this.waiting.push({ network, start }));
    return true;
  }

  private async tryPassword(attempt: Attempt, password: string): Promise<PasswordResult> {
    const seconds = await this.failures.begin(attempt); // other attempts may have failed while this one waited
    if (seconds > 0) return { kind: 'wait', seconds };
    const matches = await verifyPassword(password, this.accounts.hashOf(attempt.login));
    if (!matches) return { kind: 'refused' };
    await this.failures.forgive(attempt);
    return { kind: 'accepted', account: this.accounts.withLogin(attempt.login)! };
  }
}

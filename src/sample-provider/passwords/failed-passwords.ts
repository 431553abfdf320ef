import { RateLimiterMemory } from 'rate-limiter-flexible';

/** Login and network of an attempt. */
export interface Attempt {
  readonly login: string;
  /** As `networkOf` has it. */
  readonly network: string;
}

/**
 * Failed passwords per minute (docs/security.md). 10 for a login from one network, so that a stranger cannot lock its owner out; 30
 * for a network, because hashing is expensive; 100 for a login, against attempts from many networks.
 */
const LIMITS = [
  { most: 10, keyOf: ({ network, login }: Attempt) => `${network} ${login}` },
  { most: 30, keyOf: ({ network }: Attempt) => network },
  { most: 100, keyOf: ({ login }: Attempt) => login },
];

/**
 * Counts failed passwords in this instance, independent of RATE_LIMIT. Each key lives for a minute. Only a password that is hashed adds
 * keys, which bounds them (password-check.ts).
 */
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

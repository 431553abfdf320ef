import { RateLimiterMemory } from 'rate-limiter-flexible';

/** Where and for whom a password is tried. */
export interface Attempt {
  readonly login: string;
  /** As `networkOf` has it. */
  readonly network: string;
}

/**
 * How many passwords may fail in a minute (security, sample provider). Ten for a login from one network: a stranger elsewhere
 * cannot keep its owner out. Thirty for one network, whatever the logins: otherwise it could use all the time there is for
 * hashing. A hundred for a login from all networks together, so that many networks cannot try ten each.
 */
const LIMITS = [
  { most: 10, keyOf: ({ network, login }: Attempt) => `${network} ${login}` },
  { most: 30, keyOf: ({ network }: Attempt) => network },
  { most: 100, keyOf: ({ login }: Attempt) => login },
];

/**
 * Counts failed passwords, each key for a minute from its first. Each instance counts alone, whether RATE_LIMIT is on or off.
 * Bounded: only a password that is hashed adds keys (three), and a minute has no time for many (password-check.ts).
 */
export class FailedPasswords {
  private readonly counts = LIMITS.map(({ most, keyOf }) => ({
    most,
    keyOf,
    limiter: new RateLimiterMemory({ points: most, duration: 60 }),
  }));

  /** Counts nothing. @returns seconds until another attempt may be made; 0: now */
  async secondsToWait(attempt: Attempt): Promise<number> {
    const waits = this.counts.map(async ({ most, keyOf, limiter }) => {
      const count = await limiter.get(keyOf(attempt));
      return count && count.consumedPoints >= most ? count.msBeforeNext : 0;
    });
    return toSeconds(await Promise.all(waits));
  }

  /**
   * Counts an attempt as failed until it is forgiven, so attempts at the same time cannot outrun a limit.
   * @returns 0, or the seconds to wait: then the attempt is not counted, and must not be made
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

  /** Takes back what `begin` counted: it was the right password. */
  async forgive(attempt: Attempt): Promise<void> {
    await Promise.all(this.counts.map(({ keyOf, limiter }) => limiter.reward(keyOf(attempt))));
  }
}

function toSeconds(milliseconds: readonly number[]): number {
  return Math.ceil(Math.max(...milliseconds) / 1000);
}

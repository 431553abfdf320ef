import type { createLocalJWKSet } from 'jose';

/** By what a provider's tokens are judged. */
export interface Verification {
  readonly issuer: string;
  /** Those with which it may sign; all are asymmetric. */
  readonly algorithms: string[];
  readonly keys: ReturnType<typeof createLocalJWKSet>;
}

/** Milliseconds for which keys are used without asking. A withdrawn one is good for as long. */
const LIFE_MS = 300_000;
/** Between two fetches that tokens of an unknown key cause: anyone can make some up. */
const BETWEEN_MS = 30_000;
/** After any fetch: what it brought, keys or an error, is the answer for a moment. */
const MOMENT_MS = 1000;

interface Attempt {
  readonly loading: Promise<Verification>;
  /** When it was over; infinite until then. */
  over: number;
}

/**
 * A provider's keys, for what it sends by itself: fetched when first needed, and kept. Whoever asks meanwhile waits for the
 * same answer, and gets the same failure: a flood of tokens is not one for the provider.
 */
export class KeptKeys {
  private kept?: { readonly verification: Verification; readonly until: number };
  private last?: Attempt;
  /** The last one for an unknown key. */
  private again?: Attempt;

  /** @param load fetches them; it must end by itself */
  constructor(
    private readonly load: () => Promise<Verification>,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Those that are kept, unless they are too old. @throws what `load` throws */
  async current(): Promise<Verification> {
    if (this.kept && this.now() < this.kept.until) return this.kept.verification;
    return (this.within(MOMENT_MS, this.last) ?? this.fetch()).loading;
  }

  /** For a token that the current ones do not fit: new ones, or those of a while ago. @throws what `load` throws */
  async newest(): Promise<Verification> {
    const recent = this.within(MOMENT_MS, this.last) ?? this.within(BETWEEN_MS, this.again);
    return (recent ?? (this.again = this.fetch())).loading;
  }

  private within(milliseconds: number, attempt?: Attempt): Attempt | undefined {
    return attempt && this.now() - attempt.over < milliseconds ? attempt : undefined;
  }

  private fetch(): Attempt {
    const attempt: Attempt = { loading: this.load(), over: Infinity };
    this.last = attempt;
    void this.keep(attempt);
    return attempt;
  }

  private async keep(attempt: Attempt): Promise<void> {
    try {
      const verification = await attempt.loading;
      this.kept = { verification, until: this.now() + LIFE_MS };
    } catch {
      // who waits for it is told
    } finally {
      attempt.over = this.now();
    }
  }
}

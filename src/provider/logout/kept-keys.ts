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
/** After a fetch that failed: its error is the answer for a moment. */
const MOMENT_MS = 1000;

interface Attempt {
  readonly loading: Promise<Verification>;
  readonly began: number;
  /** When it was over; infinite until then. */
  over: number;
  failed: boolean;
}

/** Keys for a token that the ones before do not fit. */
export interface NewerKeys {
  readonly verification: Verification;
  /** Whether the provider was asked after the token had come. If not, it may have made a key since. */
  readonly isCertain: boolean;
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
    readonly now: () => number = () => performance.now(),
  ) {}

  /** Those that are kept, unless they are too old. @throws what `load` throws */
  async current(): Promise<Verification> {
    if (this.kept && this.now() < this.kept.until) return this.kept.verification;
    return (this.underWayOrFailed() ?? this.fetch()).loading;
  }

  /**
   * Fetches keys again for a token that the current ones do not fit, if that was not done in the last 30 s.
   * @param since when the token came, by `now`
   * @throws what `load` throws
   */
  async newest(since: number): Promise<NewerKeys> {
    const last = this.last && (this.last.began >= since || this.mayFetchIn > 0) ? this.last : undefined;
    const attempt = last ?? this.underWayOrFailed() ?? (this.again = this.fetch());
    return { verification: await attempt.loading, isCertain: attempt.began >= since };
  }

  /** Milliseconds until an unknown key may cause a fetch again. */
  get mayFetchIn(): number {
    if (!this.again) return 0;
    return Math.max(0, Math.min(this.again.over - this.now(), 0) + BETWEEN_MS);
  }

  private underWayOrFailed(): Attempt | undefined {
    const { last } = this;
    if (!last || (last.over < Infinity && !last.failed)) return undefined;
    return this.now() - last.over < MOMENT_MS ? last : undefined;
  }

  private fetch(): Attempt {
    const attempt: Attempt = { loading: this.load(), began: this.now(), over: Infinity, failed: false };
    this.last = attempt;
    void this.keep(attempt);
    return attempt;
  }

  private async keep(attempt: Attempt): Promise<void> {
    try {
      const verification = await attempt.loading;
      this.kept = { verification, until: this.now() + LIFE_MS };
    } catch {
      attempt.failed = true; // who waits for it is told
    } finally {
      attempt.over = this.now();
    }
  }
}

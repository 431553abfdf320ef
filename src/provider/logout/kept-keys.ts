import type { createLocalJWKSet } from 'jose';

/** What verifies the signature of a provider's tokens. */
export interface Verification {
  readonly issuer: string;
  /** Asymmetric only. */
  readonly algorithms: string[];
  readonly keys: ReturnType<typeof createLocalJWKSet>;
}

const LIFE_MS = 300_000; // milliseconds for which keys are used; a withdrawn key is valid for as long
/** Pause after a fetch for an unknown key: anyone can make up tokens of unknown keys. */
const REFETCH_PAUSE_MS = 30_000;
const FAILURE_PAUSE_MS = 1000; // pause after a failed fetch, in which its error is the answer

interface Fetch {
  readonly loading: Promise<Verification>;
  readonly began: number;
  /** Infinity while it runs. */
  ended: number;
  failed: boolean;
}

/** Keys of a provider, fetched when first needed. Concurrent calls share one fetch and its error. */
export class KeptKeys {
  private kept?: { readonly verification: Verification; readonly until: number };
  private last?: Fetch;
  /** Latest fetch for an unknown key. */
  private refetch?: Fetch;

  /** @param load fetches the keys; must have a time limit */
  constructor(
    private readonly load: () => Promise<Verification>,
    readonly now: () => number = () => performance.now(),
  ) {}

  /** Returns the kept keys, or fetches them. @throws as `load` */
  async current(): Promise<Verification> {
    if (this.kept && this.now() < this.kept.until) return this.kept.verification;
    return (this.runningOrFailed() ?? this.fetch()).loading;
  }

  /**
   * Fetches the keys again for a token of an unknown key that came at `since`, at most once in 30 s. `isCertain`: the fetch began after
   * that. If not, the provider may have created a key since.
   */
  async newest(since: number) {
    const recent = this.last && (this.last.began >= since || this.mayFetchIn > 0) ? this.last : undefined;
    const fetch = recent ?? this.runningOrFailed() ?? (this.refetch = this.fetch());
    return { verification: await fetch.loading, isCertain: fetch.began >= since };
  }

  /** Milliseconds until an unknown key may cause a fetch again. */
  get mayFetchIn(): number {
    if (!this.refetch) return 0;
    return Math.max(0, Math.min(this.refetch.ended - this.now(), 0) + REFETCH_PAUSE_MS);
  }

  private runningOrFailed(): Fetch | undefined {
    const { last } = this;
    if (!last || (last.ended < Infinity && !last.failed)) return undefined;
    return this.now() - last.ended < FAILURE_PAUSE_MS ? last : undefined;
  }

  private fetch(): Fetch {
    const fetch: Fetch = { loading: this.load(), began: this.now(), ended: Infinity, failed: false };
    this.last = fetch;
    void fetch.loading
      .then(
        (verification) => (this.kept = { verification, until: this.now() + LIFE_MS }),
        () => (fetch.failed = true),
      )
      .finally(() => (fetch.ended = this.now()));
    return fetch;
  }
}

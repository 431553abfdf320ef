/** As long as an attempt to sign in. */
const LIFE_MS = 600_000;
/** The oldest are removed first. */
const MOST = 10_000;

/**
 * Remembers what a browser has used up: attempts to sign in, and sessions that it has signed out. A repetition needs no call to the
 * service, which limits the calls of this server. Each process has a memory of its own.
 */
export class Finished<Outcome> {
  private readonly outcomes = new Map<string, { readonly outcome: Outcome; readonly until: number }>();

  /** @param now milliseconds of a clock that is not set */
  constructor(private readonly now: () => number) {}

  get(key: string): Outcome | undefined {
    const known = this.outcomes.get(key);
    return known && known.until > this.now() ? known.outcome : undefined;
  }

  add(key: string, outcome: Outcome): void {
    const now = this.now();
    this.outcomes.delete(key);
    this.outcomes.set(key, { outcome, until: now + LIFE_MS });
    for (const [oldest, { until }] of this.outcomes) {
      if (until > now && this.outcomes.size <= MOST) break;
      this.outcomes.delete(oldest);
    }
  }
}

/** Some 90 bytes each (test/bench). A service on which more sessions end within a token's life is asked for each request instead. */
const MOST = 2_000_000;
/** Beyond the tokens' own end: this clock may be set back a little. */
const KEEP_MS = 300_000;
const SWEEP_EVERY_MS = 60_000;

/** The sessions that were signed out, for as long as a token of theirs can be good. Times are of `Date.now()`. */
export class EndedSessions {
  /** Whole seconds: a small integer needs no place of its own. */
  private readonly untilOf = new Map<string, number>();
  /** When those that are over were last forgotten. */
  private sweptAt = 0;
  private readonly keepMs: number;

  /** @param clockTolerance seconds for which tokens are accepted after their expiry */
  constructor(clockTolerance = 0) {
    this.keepMs = KEEP_MS + clockTolerance * 1000;
  }

  get size(): number {
    return this.untilOf.size;
  }

  has(sessionId: string): boolean {
    return this.untilOf.has(sessionId);
  }

  /**
   * @param until the last expiry that a token of the session can have
   * @throws RangeError when there are too many to remember
   */
  add(sessionId: string, until: number, now = Date.now()): void {
    if (until + this.keepMs <= now) return;
    if (this.untilOf.size >= MOST) throw new RangeError('more sessions have ended than can be remembered');
    const known = this.untilOf.get(sessionId) ?? 0; // told twice, perhaps with another end
    this.untilOf.set(sessionId, Math.max(known, Math.ceil(until / 1000)));
  }

  /** Forgets those whose tokens have expired; to be called now and then. It judges by the clock that judges the tokens. */
  sweep(now = Date.now()): void {
    if (Math.abs(now - this.sweptAt) < SWEEP_EVERY_MS) return;
    this.sweptAt = now;
    for (const [sessionId, until] of this.untilOf) {
      if (until * 1000 + this.keepMs <= now) this.untilOf.delete(sessionId);
    }
  }

  /** To be called when all of them are about to be told once more. */
  rememberAnew(): void {
    this.sweptAt = 0;
  }

  /** Whether the clock was set back so far that sessions were forgotten whose tokens it now calls good. */
  hasForgottenTooMuch(now = Date.now()): boolean {
    return now < this.sweptAt - KEEP_MS;
  }
}

/** About 90 bytes each (test/bench). Beyond, the feed counts as unavailable, and each request is introspected. */
const MOST = 2_000_000;
/** Kept longer than the tokens live, since this machine's clock may be set back a little. */
const KEEP_MS = 300_000;
const SWEEP_EVERY_MS = 60_000;

/** Ended sessions, as long as a token of theirs can be valid. Times are milliseconds of `Date.now()`. */
export class EndedSessions {
  /** In seconds, since small integers need no heap object. */
  private readonly untilOf = new Map<string, number>();
  private sweptAt = 0;
  private readonly keepMs: number;

  /** @param clockTolerance seconds for which expired tokens are accepted */
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
   * Adds a session, or extends it.
   * @param until upper bound of the expiry of its tokens; milliseconds
   * @throws RangeError if there are too many
   */
  add(sessionId: string, until: number, now = Date.now()): void {
    if (until + this.keepMs <= now) return;
    if (this.untilOf.size >= MOST) throw new RangeError('more ended sessions than fit into memory');
    const known = this.untilOf.get(sessionId) ?? 0;
    this.untilOf.set(sessionId, Math.max(known, Math.ceil(until / 1000)));
  }

  /** Removes sessions without valid tokens, at most once a minute. @returns whether it has done so */
  sweep(now = Date.now()): boolean {
    if (Math.abs(now - this.sweptAt) < SWEEP_EVERY_MS) return false;
    this.sweptAt = now;
    for (const [sessionId, until] of this.untilOf) {
      if (until * 1000 + this.keepMs <= now) this.untilOf.delete(sessionId);
    }
    return true;
  }

  /** To be called before all sessions are read again. */
  restart(): void {
    this.sweptAt = 0;
  }

  /** Whether the clock was set back so far that removed sessions may have valid tokens again. */
  hasRemovedTooMuch(now = Date.now()): boolean {
    return now < this.sweptAt - KEEP_MS;
  }
}

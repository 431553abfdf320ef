import type { Claims } from '../token/token-signature.js';
import { asInToken, isObject } from '../token/user-claims.js';

/** Characters, about a byte each. Beyond, the feed counts as unavailable, and each request is introspected. */
const MOST = 100_000_000;
/** Of the other members of an entry. */
const OVERHEAD = 200;
/** As for ended sessions: this machine's clock may be set back a little. */
const KEEP_MS = 300_000;

/**
 * Seconds: a token issued shortly after the time of a change may have the former claims, until the change is committed. A token with yet
 * newer claims gets the claims of this change for at most a second, until the feed has the next.
 */
const COMMIT_TIME = 10;

interface Change {
  readonly at: number;
  /** Tokens issued in this second or earlier may have older claims. */
  readonly second: number;
  readonly until: number;
  /** The claims as a token carries them, as JSON: each request gets its own object. */
  readonly text: string;
}

/** Users with changed claims, as long as a token with the former claims can be valid. Times are milliseconds of `Date.now()`. */
export class ChangedClaims {
  private readonly changes = new Map<string, Change>();
  private used = 0;
  private readonly keepMs: number;

  /** @param clockTolerance seconds for which expired tokens are accepted */
  constructor(clockTolerance = 0) {
    this.keepMs = KEEP_MS + clockTolerance * 1000;
  }

  get size(): number {
    return this.changes.size;
  }

  /**
   * Takes an event `claims_changed`. Of several about a user the last one counts.
   * @throws Error if it is unreadable; RangeError if there are too many
   */
  take(data: string, now = Date.now()): void {
    const { user_id: userId, claims, changed_at, until } = JSON.parse(data) as Record<string, unknown>;
    const [changedAt, end] = [timeOf(changed_at), timeOf(until)];
    if (typeof userId !== 'string' || !isObject(claims) || Number.isNaN(changedAt) || Number.isNaN(end))
      throw new Error('an event `claims_changed` is unreadable');
    this.remove(userId);
    if (end + this.keepMs <= now) return;
    const text = JSON.stringify(asInToken(claims));
    this.used += OVERHEAD + text.length;
    this.changes.set(userId, {
      at: changedAt,
      second: Math.floor(changedAt / 1000) + COMMIT_TIME,
      until: end,
      text,
    });
    if (this.used > MOST) throw new RangeError('more changed claims than fit into memory');
  }

  /**
   * Takes an event `claims_voided`: the user was removed, and a new user with the same id has other claims.
   * @throws Error if it is unreadable
   */
  takeVoided(data: string): void {
    const { user_id: userId, voided_at } = JSON.parse(data) as Record<string, unknown>;
    const voidedAt = timeOf(voided_at);
    if (typeof userId !== 'string' || Number.isNaN(voidedAt))
      throw new Error('an event `claims_voided` is unreadable');
    const change = this.changes.get(userId);
    if (change && change.at <= voidedAt) this.remove(userId); // or the new user has changed claims
  }

  /** Returns the claims that replace a token's, as a token carries them; undefined if the token has the newest ones. */
  replacing({ sub, iat }: Claims): object | undefined {
    const change = this.changes.get(sub);
    return change && iat <= change.second ? (JSON.parse(change.text) as object) : undefined;
  }

  /**
   * Whether a token has former claims. Only the service knows it of one issued in `COMMIT_TIME` after the change. Twice as long after
   * it, a refresh returns a token that is certainly newer, also if the two clocks differ.
   */
  isOlder({ sub, iat }: Claims, now = Date.now()): boolean {
    const change = this.changes.get(sub);
    if (!change || iat > change.second) return false;
    return iat < Math.floor(change.at / 1000) || now >= change.at + 2 * COMMIT_TIME * 1000;
  }

  /** Removes changes that every valid token has. */
  sweep(now = Date.now()): void {
    for (const [userId, { until }] of this.changes) if (until + this.keepMs <= now) this.remove(userId);
  }

  private remove(userId: string): void {
    const change = this.changes.get(userId);
    if (!change) return;
    this.used -= OVERHEAD + change.text.length;
    this.changes.delete(userId);
  }
}

/** @returns NaN for no time */
function timeOf(time: unknown): number {
  return typeof time === 'string' ? Date.parse(time) : NaN;
}

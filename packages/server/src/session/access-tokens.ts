import { LatchkeyError, temporarilyUnavailable } from '../latchkey-error.js';
import type { Claims } from '../token/token-signature.js';
import type { Verifier } from '../verifier.js';
import type { ProofKey } from './proof-key.js';
import type { TokenAnswer, TokenCalls } from './token-calls.js';

/** A token is refreshed that early (spec §8), but never in the first half of a token's life. */
const LEAD_MS = 300_000;
/** Between two refreshes in the background that fail. */
const RETRY_MS = 5000;
/** Between two reports of page requests of a session. */
const REPORT_MS = 60_000;
/** Seconds. A token that ends at most this much before its session lives as long as the session. */
const SAME_END = 10;
/** Bytes of all tokens in memory with their claims; the least recently used are removed first. */
const MOST_BYTES = 100_000_000;
/** Of an entry, without token and claims. */
const OVERHEAD = 1000;

/** Content of a session's cookie. */
export interface CookieSession {
  readonly refreshToken: string;
  readonly proofs: ProofKey;
  /** Of the user whose request needs the session: for the service's limits. */
  readonly address?: string | undefined;
}

/** An access token in use. Times are milliseconds of `now`. */
interface Cached {
  readonly token: string;
  readonly claims: () => Promise<Claims>;
  readonly until: number;
  /** From then on it is refreshed. */
  staleAt: number;
  /** Whether it lives as long as its session, unless the session is used. */
  readonly isLast: boolean;
  /** The last page request that this process knows. */
  usedAt: number;
  /** From then on a page request is reported. `Infinity` without idle time. */
  reportAt: number;
}

/** A valid access token, and the user's current claims. */
export interface Current {
  readonly token: string;
  readonly claims: Claims;
  /** Seconds. */
  readonly expiresIn: number;
}

/** A session that has ended does not begin again. */
const ENDED = 'ended';
type Entry = Cached | typeof ENDED;

/**
 * The access tokens of this process's sessions, in memory alone. A session's cookie never changes, since a refresh token is not replaced
 * (spec §2.2): a refresh is shared by all requests that need it, and no answer has to carry anything back.
 */
export class AccessTokens {
  /** By refresh token, least recently used first. */
  private readonly entries = new Map<string, Entry>();
  private bytes = 0;
  private readonly refreshing = new Map<string, Promise<Entry>>();
  /** The service's idle time in seconds; null: there is none. Unknown until its first answer. */
  private idleLimit: number | null | undefined;

  /** @param now milliseconds of a clock that is not set */
  constructor(
    private readonly verifier: Pick<Verifier, 'follow'>,
    private readonly calls: Pick<TokenCalls, 'token' | 'secondsLeft'>,
    private readonly now: () => number,
  ) {}

  /**
   * Returns a session's access token with its current claims.
   * @param isFresh waits for a token that is not about to expire, if there can be one
   * @param isUse whether a person has caused the request, which prolongs a session with idle time
   * @returns undefined if the session has ended
   * @throws LatchkeyError `temporarily_unavailable` (503), `service_key_refused` (500)
   */
  async current(session: CookieSession, isFresh = false, isUse = true): Promise<Current | undefined> {
    const entry = await this.entryOf(session, isFresh, isUse);
    if (entry === ENDED) return undefined;
    if (isUse) this.report(session, entry);
    const current = await this.check(entry);
    if (current) return current;
    // The session has ended, or the token's key was revoked: the service decides.
    const known = this.entries.get(session.refreshToken);
    const next = known && known !== entry ? known : await this.refresh(session, isUse);
    if (next === ENDED) return undefined;
    const checked = await this.check(next);
    if (checked) return checked;
    throw temporarilyUnavailable(new Error('a new access token is invalid here: compare the clocks'));
  }

  /**
   * Takes the answer to a sign-in or a refresh.
   * @param idleFor seconds without a use, as the service was told
   * @throws LatchkeyError if its token is not valid here
   */
  async add(refreshToken: string, answer: TokenAnswer, sentAt: number, idleFor = 0): Promise<Entry> {
    const { access_token: token, expires_in: seconds, idle_expires_in: idle } = answer;
    const claims = await this.verifier.follow(token);
    const life = seconds * 1000;
    const until = sentAt + life;
    const end = Math.min(idle ?? Infinity, answer.refresh_token_expires_in ?? Infinity);
    const usedAt = sentAt - idleFor * 1000;
    this.idleLimit = idle === undefined ? null : idle + idleFor;
    return this.set(refreshToken, {
      token,
      claims,
      until,
      staleAt: until - Math.min(LEAD_MS, life / 2),
      isLast: end - seconds <= SAME_END,
      usedAt,
      reportAt: idle === undefined ? Infinity : usedAt + REPORT_MS,
    });
  }

  /** To be called when a session was signed out here: the feed may bring it a moment later. */
  end(refreshToken: string): void {
    this.set(refreshToken, ENDED);
  }

  private async entryOf(session: CookieSession, isFresh: boolean, isUse: boolean): Promise<Entry> {
    const known = this.entries.get(session.refreshToken);
    if (known === undefined) return this.refresh(session, isUse);
    this.set(session.refreshToken, known); // the most recently used
    const now = this.now();
    if (known === ENDED || now < known.staleAt) return known;
    if (now >= known.until) return this.refresh(session, isUse);
    if (known.isLast && !isUse) return known;
    known.staleAt = now + RETRY_MS;
    const next = this.refresh(session, isUse).catch(() => known);
    return isFresh ? next : known;
  }

  /** Tells the service of a page request, once a minute at most; no page waits for it. */
  private report(session: CookieSession, entry: Cached): void {
    const now = this.now();
    entry.usedAt = now;
    if (now < entry.reportAt) return;
    entry.reportAt = now + RETRY_MS;
    this.refresh(session, true).catch(() => undefined);
  }

  /** @returns undefined for an invalid token */
  private async check({ token, claims, until }: Cached): Promise<Current | undefined> {
    try {
      const expiresIn = Math.max(0, Math.floor((until - this.now()) / 1000));
      return { token, claims: await claims(), expiresIn };
    } catch (error) {
      if (error instanceof LatchkeyError && error.code === 'invalid_token') return undefined;
      throw error;
    }
  }

  /** Concurrent calls for a session share a refresh. */
  private refresh(session: CookieSession, isUse: boolean): Promise<Entry> {
    const { refreshToken } = session;
    let refresh = this.refreshing.get(refreshToken);
    if (!refresh) {
      refresh = this.refreshOnce(session, isUse).finally(() => this.refreshing.delete(refreshToken));
      this.refreshing.set(refreshToken, refresh);
    }
    return refresh;
  }

  private async refreshOnce(session: CookieSession, isUse: boolean): Promise<Entry> {
    if (isUse || this.idleLimit === null) return this.ask(session, 0);
    // Another process may have answered later page requests, so the service is asked for the end, which must stay as it is.
    const known = this.entries.get(session.refreshToken);
    const usedAt = known === undefined || known === ENDED ? -Infinity : known.usedAt;
    const left = await this.calls.secondsLeft(session.refreshToken);
    const idleFor = (): number => {
      const times = [(this.now() - usedAt) / 1000, (this.idleLimit ?? 0) - (left ?? -Infinity)];
      const least = Math.min(...times);
      return Number.isFinite(least) ? Math.max(0, Math.floor(least)) : 0;
    };
    if (this.idleLimit !== undefined) return this.ask(session, idleFor());
    // The first answer to this process shows whether there is an idle time.
    const first = await this.ask(session, 0);
    return this.idleLimit && first !== ENDED ? this.ask(session, idleFor()) : first;
  }

  private async ask(session: CookieSession, idleFor: number): Promise<Entry> {
    const { refreshToken } = session;
    const sentAt = this.now();
    const body = { refresh_token: refreshToken, ...(this.idleLimit && { idle_for: idleFor }) };
    try {
      const answer = await this.calls.token('/oauth2/refresh', body, session);
      return await this.add(refreshToken, answer, sentAt, idleFor);
    } catch (error) {
      if (!(error instanceof LatchkeyError)) throw error;
      if (error.code !== 'invalid_grant') throw error.status < 500 ? temporarilyUnavailable(error) : error;
      return this.set(refreshToken, ENDED);
    }
  }

  private set(refreshToken: string, next: Entry): Entry {
    // A session that was signed out during its refresh stays so.
    const entry = this.entries.get(refreshToken) === ENDED ? ENDED : next;
    this.remove(refreshToken);
    this.entries.set(refreshToken, entry);
    this.bytes += bytesOf(entry);
    for (const [oldest] of this.entries) {
      if (this.bytes <= MOST_BYTES) break;
      this.remove(oldest);
    }
    return entry;
  }

  private remove(refreshToken: string): void {
    const entry = this.entries.get(refreshToken);
    if (entry === undefined) return;
    this.bytes -= bytesOf(entry);
    this.entries.delete(refreshToken);
  }
}

/** The claims take about as much as the token. */
const bytesOf = (entry: Entry): number => OVERHEAD + (entry === ENDED ? 0 : 3 * entry.token.length);

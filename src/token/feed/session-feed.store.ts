import { Injectable } from '@nestjs/common';
import { SELECT_MOMENT, type Moment } from '../../platform/database/commit-reader.js';
import { chunks } from '../../platform/database/batching.js';
import { ConcurrencyLimit } from '../../platform/database/limits.js';
import { Sql } from '../../platform/database/sql.js';
import { databaseUnavailable } from '../../platform/errors/oauth-error.js';
import type { ChangedClaims, EndedSession, VoidedClaims } from '../../platform/events.js';
import { CHANGES, CLAIMS, ClaimsChangesStore, type ClaimsChange } from '../../user/claims-changes.store.js';
import { LONGEST_TOKEN_TTL } from '../keys/key-life.js';

/** Sessions that one statement reads, which takes some milliseconds. */
const PAGE = 1000;

/**
 * Longest time between a sign-out, or a change of claims, and its commit: transactions of more than ten
 * minutes are rolled back (ChannelHistory.transaction). So a cursor stands for all of them up to this long
 * before it (docs/ended-sessions.md#a-reader).
 */
const LATEST_MS = 15 * 60_000;

/** Seconds by which an instance's clock may be off when it signs a token. */
const CLOCK_OFF_S = 60;

/** `isStandby`: ended sessions may be missing, so the moment is no cursor. */
export interface FeedMoment extends Moment {
  /** Upper bound of the expiry of all tokens that are issued until now. */
  readonly until: Date;
}

// `until` counts from now, not from the sign-out: tokens may be refreshed until its commit. Token lifetimes
// include those of other instances and of earlier settings (KeyStore.ensureTokenTtl).
const READ_UNTIL = {
  name: 'session-feed-until',
  text: `SELECT now() + make_interval(secs => ${LONGEST_TOKEN_TTL} + ${CLOCK_OFF_S}) AS until`,
};
// Without a table, so that a distributed database does not read the transactions of another node.
const READ_MOMENT = { name: 'session-feed-moment', text: SELECT_MOMENT };

// Prepared, since each instance reads twice a second. `key` is a text: a Date would lose the microseconds.
const READ = {
  name: 'ended-sessions',
  text: `
    SELECT user_id AS "userId", session_id AS "sessionId", device_id AS "deviceId", signed_out_at AS "endedAt",
      ends_because AS cause, signed_out_at::text AS key
    FROM refresh_tokens
    WHERE signed_out_at >= $1::timestamptz AND signed_out_at <= $3::timestamptz
      AND (signed_out_at, session_id) > ($1::timestamptz, $2::uuid)
    ORDER BY signed_out_at, session_id LIMIT ${PAGE}`,
};
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

type Row = Omit<EndedSession, 'until'> & { readonly key: string };

export type ChangeId = Pick<ClaimsChange, 'userId' | 'key'>;

/** First pages of changed claims, then of ended sessions. */
export interface FeedPage {
  readonly changed?: readonly (ChangeId & ChangedClaims)[];
  readonly voided?: readonly (ChangeId & VoidedClaims)[];
  readonly ended?: readonly EndedSession[];
}

/** Page of what happened before a stream was opened. */
export interface PastPage extends FeedPage {
  /** Cursor of a reader that has this page and those before it; null while pages of claims follow. */
  readonly cursor: string | null;
}

/** What is read: times of the database. */
export interface Range {
  readonly from: string;
  /** Of claims, if they are read from another time. */
  readonly claimsFrom?: string;
  readonly to: string;
  /** As of the moment before. */
  readonly until: Date;
}

/**
 * Reads signed-out sessions and changed claims by the time of the database, or of its coordinator.
 */
@Injectable()
export class SessionFeedStore {
  /** The past is read one page at a time, also for many streams, so that requests find a connection. */
  private readonly readings = new ConcurrencyLimit(1);

  constructor(
    private readonly sql: Sql,
    private readonly changes: ClaimsChangesStore,
  ) {}

  async moment(): Promise<FeedMoment> {
    const [moment] = await this.sql.query<Moment>(READ_MOMENT, []);
    const [tokens] = await this.sql.query<Pick<FeedMoment, 'until'>>(READ_UNTIL, []);
    return { ...moment!, ...tokens! };
  }

  /**
   * Yields what happened in a range, oldest first. Claims are those of now; a user with a change during the
   * reading is read later.
   * @param isNew whether the claims of a change are read: they are far larger than the change
   */
  async *pages(
    { from, claimsFrom = from, to, until }: Range,
    isNew: (change: ChangeId) => boolean = () => true,
  ): AsyncGenerator<FeedPage, void> {
    let change: ChangeId = { key: claimsFrom, userId: BEFORE_ALL };
    for (let found = CHANGES; found === CHANGES;) {
      const changes = await this.changes.find(change, to);
      yield {
        voided: changes.flatMap(({ voidedAt, ...one }) => (voidedAt ? { ...one, voidedAt, until } : [])),
      };
      const wanted = changes.filter((one) => !one.voidedAt && isNew(one)).map(({ userId }) => userId);
      for (const userIds of chunks(wanted, CLAIMS))
        yield { changed: (await this.changes.read(userIds)).map((one) => ({ ...one, until })) };
      found = changes.length;
      change = changes.at(-1) ?? change;
    }
    let session = { key: from, sessionId: BEFORE_ALL };
    for (let found = PAGE; found === PAGE;) {
      const rows = await this.sql.query<Row>(READ, [session.key, session.sessionId, to]);
      yield { ended: rows.map(({ key: _key, ...ended }) => ({ ...ended, until })) };
      found = rows.length;
      session = rows.at(-1) ?? session;
    }
  }

  /**
   * Reads the sessions that have ended before now, and the claims that have changed; SessionFeed finds later
   * commits. Rows of sessions are removed only after the last token of the session (session.sql.ts).
   * @param lastEventId cursor; without it, and if it is malformed or in the future, everything is read
   * @returns the pages, and the cursor after them
   * @throws OAuthError `server_error` on a standby, and errors of the database
   */
  async past(
    lastEventId: string | undefined,
  ): Promise<{ cursor: string; pages: AsyncGenerator<PastPage, void> }> {
    const { at, until } = await this.primaryMoment();
    const now = toMs(at);
    const ms = /^\d{1,15}$/.test(lastEventId ?? '') ? Number(lastEventId) : Infinity;
    const since = ms <= now ? ms - LATEST_MS : -Infinity;
    // Unlike the row of a session, that of a user stays when the last token with the former claims has
    // expired.
    const sinceExpired = now - (until.getTime() - now) - LATEST_MS;
    const from = since === -Infinity ? '-infinity' : toTime(since);
    const range = { from, claimsFrom: toTime(Math.max(since, sinceExpired)), to: 'infinity', until };
    return { cursor: String(now), pages: this.pastPages(range, now) };
  }

  private async *pastPages(range: Range, now: number): AsyncGenerator<PastPage, void> {
    const pages = this.pages(range);
    for (;;) {
      const { value: page } = await this.readings.run(() => pages.next());
      if (!page) break;
      const last = page.ended?.at(-1);
      yield { ...page, cursor: last ? String(Math.min(last.endedAt.getTime(), now)) : null };
    }
    await this.primaryMoment(); // rejects pages of a primary that became a standby
  }

  private async primaryMoment(): Promise<FeedMoment> {
    const moment = await this.moment();
    if (moment.isStandby) throw databaseUnavailable();
    return moment;
  }
}

/** @param place microseconds since the epoch @returns milliseconds */
export function toMs(place: number): number {
  return Math.floor(place / 1000);
}

/** @param ms since the epoch */
export function toTime(ms: number): string {
  return new Date(ms).toISOString();
}

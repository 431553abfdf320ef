import { Injectable } from '@nestjs/common';
import { SELECT_MOMENT, type Moment } from '../../database/commit-reader.js';
import { chunks, ConcurrencyLimit } from '../../database/concurrency-limit.js';
import { Sql } from '../../database/sql.js';
import { databaseUnavailable } from '../../errors/oauth-error.js';
import type { ChangedClaims, EndedSession, VoidedClaims } from '../../events.js';
import {
  CHANGES,
  CLAIMS,
  ClaimsChangesStore,
  type ClaimsChange,
  type CurrentClaims,
} from '../../user/claims-changes.store.js';
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
const READ_MOMENT = {
  name: 'session-feed-moment',
  text: `
    SELECT moment.*, now() + make_interval(secs => ${LONGEST_TOKEN_TTL} + ${CLOCK_OFF_S}) AS until
    FROM (${SELECT_MOMENT}) AS moment`,
};

// Prepared, since each instance reads twice a second. `key` is a text: a Date would lose the microseconds.
const READ = {
  name: 'ended-sessions',
  text: `
    SELECT user_id AS "userId", session_id AS "sessionId", device_id AS "deviceId", signed_out_at AS "endedAt",
      signed_out_at::text AS key
    FROM refresh_tokens
    WHERE signed_out_at >= $1::timestamptz AND signed_out_at <= $3::timestamptz
      AND (signed_out_at, session_id) > ($1::timestamptz, $2::uuid)
    ORDER BY signed_out_at, session_id LIMIT ${PAGE}`,
};
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

type Row = Omit<EndedSession, 'until'> & { readonly key: string };

export type ChangeId = Pick<ClaimsChange, 'userId' | 'key'>;
type Until = Pick<FeedMoment, 'until'>;

interface ChangePage {
  /** Changes that were not read before. */
  readonly found: number;
  readonly changed: readonly (CurrentClaims & Until)[];
  readonly voided?: readonly (VoidedClaims & ChangeId)[];
}

/** Page of what happened before a stream was opened: first all claims, then all sessions. */
export interface PastPage {
  readonly changed: readonly ChangedClaims[];
  readonly voided?: readonly VoidedClaims[];
  readonly ended: readonly EndedSession[];
  /** Cursor of a reader that has this page and those before it; null while pages of claims follow. */
  readonly cursor: string | null;
}

/**
 * Reads signed-out sessions and changed claims by time. On Citus it is the coordinator's time, which evaluates
 * `now()`.
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
    const [moment] = await this.sql.query<FeedMoment>(READ_MOMENT, []);
    return moment!;
  }

  /** Yields pages of the sessions that were signed out between two times, oldest first. @param until read before */
  async *between(from: string, to: string, { until }: Until): AsyncGenerator<EndedSession[], void> {
    let after = { key: from, sessionId: BEFORE_ALL };
    for (;;) {
      const rows = await this.sql.query<Row>(READ, [after.key, after.sessionId, to]);
      if (rows.length > 0) yield rows.map(({ key: _key, ...ended }) => ({ ...ended, until }));
      if (rows.length < PAGE) return;
      after = rows.at(-1)!;
    }
  }

  /**
   * Yields pages of users with changed claims between two times, oldest first, each with the claims now. A user
   * with a change during the reading is read later.
   * @param isWanted whether the claims of a change are read: they are far larger than the change
   */
  async *changedBetween(
    from: string,
    to: string,
    { until }: Until,
    isWanted: (change: ChangeId) => boolean = () => true,
  ): AsyncGenerator<ChangePage, void> {
    let after: ChangeId = { key: from, userId: BEFORE_ALL };
    for (;;) {
      const found = await this.changes.find(after, to);
      const voided = found.flatMap(({ voidedAt, ...one }) => (voidedAt ? { ...one, voidedAt, until } : []));
      if (found.length > 0) yield { found: found.length, changed: [], voided };
      const wanted = found.filter((one) => !one.voidedAt && isWanted(one)).map(({ userId }) => userId);
      for (const userIds of chunks(wanted, CLAIMS)) {
        const current = await this.changes.read(userIds);
        yield { found: 0, changed: current.map((one) => ({ ...one, until })) };
      }
      if (found.length < CHANGES) return;
      after = found.at(-1)!;
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
    const moment = await this.primaryMoment();
    const now = toMs(moment.at);
    const ms = /^\d{1,15}$/.test(lastEventId ?? '') ? Number(lastEventId) : Infinity;
    const since = ms <= now ? ms - LATEST_MS : -Infinity;
    return { cursor: String(now), pages: this.pastPages(since, now, moment) };
  }

  private async *pastPages(since: number, now: number, { until }: Until): AsyncGenerator<PastPage, void> {
    // Unlike the row of a session, that of a user stays when the last token with the former claims has expired.
    const sinceExpired = now - (until.getTime() - now) - LATEST_MS;
    const claims = this.changedBetween(toTime(Math.max(since, sinceExpired)), 'infinity', { until });
    for await (const { changed, voided = [] } of this.oneAtATime(claims))
      if (changed.length + voided.length > 0) yield { changed, voided, ended: [], cursor: null };
    const sessions = this.between(since === -Infinity ? '-infinity' : toTime(since), 'infinity', { until });
    for await (const ended of this.oneAtATime(sessions)) {
      const cursor = String(Math.min(ended.at(-1)!.endedAt.getTime(), now));
      yield { changed: [], ended, cursor };
    }
    await this.primaryMoment(); // rejects pages of a primary that became a standby
  }

  private async *oneAtATime<Page>(pages: AsyncGenerator<Page, void>): AsyncGenerator<Page, void> {
    for (;;) {
      const { value: page } = await this.readings.run(() => pages.next());
      if (!page) return;
      yield page;
    }
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

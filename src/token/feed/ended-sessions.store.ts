import { Injectable } from '@nestjs/common';
import { ConcurrencyLimit } from '../../database/limits.js';
import { plainArray } from '../../database/batching.js';
import { Sql } from '../../database/sql.js';
import { databaseUnavailable } from '../../errors/oauth-error.js';
import type { ChangedClaims, EndedSession, VoidedClaims } from '../../events.js';
import { SELECT_CHANGED_CLAIMS, selectChanges } from '../../user/user.sql.js';
import { LONGEST_TOKEN_TTL } from '../keys/key-life.js';

/** Sessions that one statement reads, which takes some milliseconds. */
const PAGE = 1000;
/** Claims of so many users are read by one statement: up to 8 KiB each. */
const CLAIMS_PAGE = 200;

/**
 * Longest time between a sign-out, or a change of claims, and its commit: transactions of more than ten
 * minutes are rolled back (ChannelHistory.transaction). So a cursor stands for all of them up to this long
 * before it (docs/ended-sessions.md#a-reader).
 */
const LATEST_MS = 15 * 60_000;

/** Seconds by which an instance's clock may be off when it signs a token. */
const CLOCK_OFF_S = 60;

/** Time of the database, in milliseconds since the epoch. */
export interface DatabaseTime {
  readonly at: number;
  /** A standby may lack ended sessions: its time is no cursor. */
  readonly isStandby: boolean;
  /** Upper bound of the expiry of all tokens that are issued until now. */
  readonly until: Date;
}

// `until` counts from now, not from the sign-out: tokens may be refreshed until its commit. Token lifetimes include those of
// other instances and of earlier settings (KeyStore.ensureTokenTtl).
const TIME = {
  name: 'ended-sessions-time',
  text: `
    SELECT floor(extract(epoch FROM now()) * 1000)::float8 AS at, pg_is_in_recovery() AS "isStandby",
      now() + make_interval(secs => ${LONGEST_TOKEN_TTL} + ${CLOCK_OFF_S}) AS until`,
};

// `key` is a text, since a Date would lose the microseconds.
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
// It uses tables of several modules.
const READ_CHANGES = { name: 'claims-changes', text: selectChanges(PAGE) };
const READ_CLAIMS = { name: 'changed-claims', text: SELECT_CHANGED_CLAIMS };
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

type Row = Omit<EndedSession, 'until'> & { readonly key: string };

/** Last change of a user's claims; `key`: its exact time. */
export type Change = Pick<ChangedClaims, 'userId'> & { readonly key: string };

type ReadChange = ChangedClaims & Change;
type ReadVoided = VoidedClaims & Change;

/** Change; `voidedAt`: the user was removed. */
type Found = Change & { readonly voidedAt: Date | null };

interface ChangePage {
  /** Changes that were not read before. */
  readonly found: number;
  readonly changed: readonly ReadChange[];
  readonly voided?: readonly ReadVoided[];
}

/** Page of what happened before a stream was opened: first all claims, then all sessions. */
export interface PastPage {
  readonly changed: readonly ChangedClaims[];
  readonly voided?: readonly VoidedClaims[];
  readonly ended: readonly EndedSession[];
  /** Cursor of a reader that has this page and those before it; null while pages of claims follow. */
  readonly cursor: string | null;
}

/** Reads signed-out sessions and changed claims by time. On Citus it is the coordinator's time, which evaluates `now()`. */
@Injectable()
export class EndedSessionStore {
  /** The past is read one page at a time, also for many streams, so that requests find a connection. */
  private readonly readings = new ConcurrencyLimit(1);

  constructor(private readonly sql: Sql) {}

  async time(): Promise<DatabaseTime> {
    const [time] = await this.sql.query<DatabaseTime>(TIME, []);
    return time!;
  }

  /** Yields pages of the sessions that were signed out between two times, oldest first. @param time read before */
  async *between(from: string, to: string, { until }: DatabaseTime): AsyncGenerator<EndedSession[], void> {
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
    { until }: DatabaseTime,
    isWanted: (change: Change) => boolean = () => true,
  ): AsyncGenerator<ChangePage, void> {
    let after: Change = { key: from, userId: BEFORE_ALL };
    for (;;) {
      const found = await this.sql.query<Found>(READ_CHANGES, [after.key, after.userId, to]);
      const voided = found.flatMap(({ voidedAt, ...one }) => (voidedAt ? { ...one, voidedAt, until } : []));
      if (found.length > 0) yield { found: found.length, changed: [], voided };
      const changes = found.filter(({ voidedAt }) => !voidedAt);
      const wanted = changes.filter(isWanted).map(({ userId }) => userId);
      for (let i = 0; i < wanted.length; i += CLAIMS_PAGE) {
        const page = plainArray(wanted.slice(i, i + CLAIMS_PAGE));
        const rows = await this.sql.query<Omit<ReadChange, 'until'>>(READ_CLAIMS, [page]);
        const changed = rows.filter(({ key }) => key !== null).map((row) => ({ ...row, until }));
        yield { found: 0, changed };
      }
      if (found.length < PAGE) return;
      after = found.at(-1)!;
    }
  }

  /**
   * Reads the sessions that have ended before now, and the claims that have changed; EndedSessions finds later commits. Rows of
   * sessions are removed only after the last token of the session (session.sql.ts).
   * @param lastEventId cursor; without it, and if it is malformed or in the future, everything is read
   * @returns the pages, and the cursor after them
   * @throws OAuthError `server_error` on a standby, and errors of the database
   */
  async past(
    lastEventId: string | undefined,
  ): Promise<{ cursor: string; pages: AsyncGenerator<PastPage, void> }> {
    const time = await this.primaryTime();
    const ms = /^\d{1,15}$/.test(lastEventId ?? '') ? Number(lastEventId) : Infinity;
    const since = ms <= time.at ? ms - LATEST_MS : -Infinity;
    return { cursor: String(time.at), pages: this.pastPages(since, time) };
  }

  private async *pastPages(since: number, time: DatabaseTime): AsyncGenerator<PastPage, void> {
    // Unlike the row of a session, that of a user stays when the last token with the former claims has expired.
    const sinceExpired = time.at - (time.until.getTime() - time.at) - LATEST_MS;
    const claims = this.changedBetween(timeOf(Math.max(since, sinceExpired)), 'infinity', time);
    for await (const { changed, voided = [] } of this.inTurn(claims))
      if (changed.length + voided.length > 0) yield { changed, voided, ended: [], cursor: null };
    const sessions = this.between(since === -Infinity ? '-infinity' : timeOf(since), 'infinity', time);
    for await (const ended of this.inTurn(sessions)) {
      const cursor = String(Math.min(ended.at(-1)!.endedAt.getTime(), time.at));
      yield { changed: [], ended, cursor };
    }
    await this.primaryTime(); // rejects pages of a primary that became a standby
  }

  private async *inTurn<Page>(pages: AsyncGenerator<Page, void>): AsyncGenerator<Page, void> {
    for (;;) {
      const { value: page } = await this.readings.run(() => pages.next());
      if (!page) return;
      yield page;
    }
  }

  private async primaryTime(): Promise<DatabaseTime> {
    const time = await this.time();
    if (time.isStandby) throw databaseUnavailable();
    return time;
  }
}

/** @param ms since the epoch */
export function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

import { Injectable } from '@nestjs/common';
import { Sql } from '../../database/statements/sql.js';
import { databaseUnavailable } from '../../errors/server-error.js';
import type { EndedSession } from '../../events.js';
import { LONGEST_TOKEN_TTL } from '../keys/key-life.js';

/** Sessions that one statement reads, which takes some milliseconds. */
const PAGE = 1000;

/**
 * Longest time between a sign-out and its commit: transactions of more than ten minutes are rolled back
 * (ChannelHistory.transaction). So a cursor stands for all sign-outs up to this long before it (contract §8).
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
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

type Row = Omit<EndedSession, 'until'> & { readonly key: string };

/** Page of sessions that ended before a stream was opened. */
export interface PastPage {
  readonly ended: readonly EndedSession[];
  /** Cursor of a reader that has this page and those before it. */
  readonly cursor: string;
}

/** Reads signed-out sessions by time. On Citus it is the coordinator's time, which evaluates `now()`. */
@Injectable()
export class EndedSessionStore {
  /** The past is read one page at a time, also for many streams, so that requests find a connection. */
  private lastPage: Promise<unknown> = Promise.resolve();

  constructor(private readonly sql: Sql) {}

  async time(): Promise<DatabaseTime> {
    const [time] = await this.sql.query<DatabaseTime & Record<string, unknown>>(TIME, []);
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
   * Reads the sessions that have ended before now; EndedSessions finds later commits. Rows are removed only after the last token
   * of the session (session.sql.ts).
   *
   * @param lastEventId cursor; without it, and if it is malformed or in the future, all sessions are read
   * @returns the pages, and the cursor after them
   * @throws OAuthError `server_error` on a standby, and errors of the database
   */
  async past(
    lastEventId: string | undefined,
  ): Promise<{ cursor: string; pages: AsyncGenerator<PastPage, void> }> {
    const time = await this.primaryTime();
    const ms = /^\d{1,15}$/.test(lastEventId ?? '') ? Number(lastEventId) : Infinity;
    const from = ms <= time.at ? timeOf(ms - LATEST_MS) : '-infinity';
    return { cursor: String(time.at), pages: this.pastPages(from, time) };
  }

  private async *pastPages(from: string, time: DatabaseTime): AsyncGenerator<PastPage, void> {
    const pages = this.between(from, 'infinity', time);
    for (;;) {
      const next = this.lastPage.then(() => pages.next());
      this.lastPage = next.catch(() => undefined);
      const { value: ended } = await next;
      if (!ended) break;
      yield { ended, cursor: String(Math.min(ended.at(-1)!.endedAt.getTime(), time.at)) };
    }
    await this.primaryTime(); // rejects pages of a primary that became a standby
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

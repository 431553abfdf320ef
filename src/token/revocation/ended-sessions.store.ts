import { Injectable } from '@nestjs/common';
import { Sql } from '../../database/statements/sql.js';
import { databaseUnavailable } from '../../errors/server-error.js';
import type { EndedSession } from '../../events.js';
import { LONGEST_TOKEN_TTL } from '../keys/key-life.js';

/** Sessions that one statement reads: some milliseconds, however many one user has signed out in a moment. */
const PAGE = 1000;

/**
 * How late a sign-out may be seen: a transaction of more than ten minutes is rolled back (ChannelHistory.transaction), a commit
 * takes some seconds at most. So a cursor stands for all that was signed out this long before it (contract §8).
 */
const LATEST_MS = 15 * 60_000;

/** Seconds by which an instance's clock may be off when it signs a token. */
const CLOCK_OFF_S = 60;

/** The database's time, in milliseconds since the epoch, and the end of all tokens of sessions that are read after it. */
export interface Place {
  readonly at: number;
  /** A standby may lack sessions that have ended: its time is no cursor. */
  readonly isStandby: boolean;
  readonly until: Date;
}

// `until` counts from now, not from the sign-out, until whose commit tokens were refreshed. The lives of tokens are those of all
// instances, also before their last restart (KeyStore.ensureTokenTtl).
const PLACE = {
  name: 'ended-sessions-place',
  text: `
    SELECT floor(extract(epoch FROM now()) * 1000)::float8 AS at, pg_is_in_recovery() AS "isStandby",
      now() + make_interval(secs => ${LONGEST_TOKEN_TTL} + ${CLOCK_OFF_S}) AS until`,
};

// By hand: every instance asks twice a second. `key` is a text, since a Date would lose the microseconds.
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

/** Some of the sessions that had ended. */
export interface PastPage {
  readonly ended: readonly EndedSession[];
  /** For a reader that has this page and those before it. */
  readonly cursor: string;
}

/** Sessions that were signed out, by their time: on Citus it is the coordinator's, which evaluates `now()`. */
@Injectable()
export class EndedSessionStore {
  /** One page of the past at a time, also for many streams: requests need the database, too. */
  private turn: Promise<unknown> = Promise.resolve();

  constructor(private readonly sql: Sql) {}

  async place(): Promise<Place> {
    const [place] = await this.sql.query<Place & Record<string, unknown>>(PLACE, []);
    return place!;
  }

  /** Sessions that were signed out between two times, in pages, the first that ended first. The place is read before. */
  async *between(from: string, to: string, { until }: Place): AsyncGenerator<EndedSession[], void> {
    let after = { key: from, sessionId: BEFORE_ALL };
    for (;;) {
      const rows = await this.sql.query<Row>(READ, [after.key, after.sessionId, to]);
      if (rows.length > 0) yield rows.map((row) => endedOf(row, until));
      if (rows.length < PAGE) return;
      after = rows.at(-1)!;
    }
  }

  /**
   * The sessions that have ended before now. A sign-out that is committed later is found by EndedSessions.
   *
   * A row is removed only after the last token of the session (session.sql.ts), so all that are stored are all that matter.
   *
   * @param lastEventId a cursor; all are read if it is left out, of the future or malformed
   * @returns the pages, and the cursor after them
   * @throws OAuthError `server_error` on a standby, and errors of the database
   */
  async past(
    lastEventId: string | undefined,
  ): Promise<{ place: string; pages: AsyncGenerator<PastPage, void> }> {
    const place = await this.primaryPlace();
    const ms = /^\d{1,15}$/.test(lastEventId ?? '') ? Number(lastEventId) : Infinity;
    const from = ms <= place.at ? timeOf(ms - LATEST_MS) : '-infinity';
    return { place: String(place.at), pages: this.pastPages(from, place) };
  }

  private async *pastPages(from: string, place: Place): AsyncGenerator<PastPage, void> {
    const pages = this.between(from, 'infinity', place);
    for (;;) {
      const next = this.turn.then(() => pages.next());
      this.turn = next.catch(() => undefined);
      const { value: ended } = await next;
      if (!ended) break;
      yield { ended, cursor: String(Math.min(ended.at(-1)!.endedAt.getTime(), place.at)) };
    }
    await this.primaryPlace(); // the pages were not read from a standby
  }

  private async primaryPlace(): Promise<Place> {
    const place = await this.place();
    if (place.isStandby) throw databaseUnavailable();
    return place;
  }
}

function endedOf({ userId, sessionId, deviceId, endedAt }: Row, until: Date): EndedSession {
  return { userId, sessionId, deviceId, endedAt, until };
}

/** @param ms since the epoch */
export function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

import { Injectable } from '@nestjs/common';
import { Sql } from '../database/sql.js';
import { databaseUnavailable } from '../errors/server-error.js';
import type { EndedSession, Session } from '../events.js';
import { cursorBefore, parseCursor } from './ended-sessions.cursor.js';
import { BEGINNING, NEXT_XID, PLACE, type Place } from './ended-sessions.store.js';

/** Sessions that are read at once: some milliseconds of work for the database, and for this process. */
const PAGE = 1000;

const ALL = BEGINNING.at;

/** Where to begin, in SQL: a time of the future, or a number that was not given out yet, is of another database. */
const beginning = (earliest: string): string => `
    SELECT (CASE
      WHEN to_timestamp($1 / 1000.0) > now() THEN '${ALL}'
      WHEN $2::bigint > ${NEXT_XID} THEN '${ALL}'
      ELSE ${earliest}
    END)::text AS start`;

// By the number (see ended-sessions.store.ts). Not plain `min(signed_out_at)`, which would be looked for by the time.
const START = {
  name: 'ended-sessions-start',
  text: beginning(`least(to_timestamp($1 / 1000.0), (
        SELECT min(signed_out_at + interval '0') FROM refresh_tokens
        WHERE signed_out_xid BETWEEN $2::bigint AND ${NEXT_XID}))`),
};

const START_DISTRIBUTED = {
  name: 'ended-sessions-start-distributed',
  text: beginning('to_timestamp($1 / 1000.0)'),
};

const page = (condition = ''): string => `
    SELECT signed_out_at::text AS at, signed_out_at AS "endedAt",
      user_id AS "userId", session_id AS "sessionId", device_id AS "deviceId"
    FROM refresh_tokens
    WHERE signed_out_at >= $1::timestamptz AND (signed_out_at, session_id) > ($1::timestamptz, $2::uuid) ${condition}
    ORDER BY signed_out_at, session_id LIMIT ${PAGE}`;

// It fails on a standby, which may not know of all yet.
const READ = {
  name: 'ended-sessions-past',
  text: page('AND (SELECT pg_current_wal_lsn()) IS NOT NULL'),
};

const READ_DISTRIBUTED = { name: 'ended-sessions-past-distributed', text: page() };

type Row = Session & { readonly at: string; readonly endedAt: Date } & Record<string, unknown>;

/** Some of the sessions that had ended. */
export interface PastPage {
  readonly ended: readonly EndedSession[];
  /** From where to go on when this one was told. */
  readonly cursor: string;
}

/**
 * The sessions that have ended before now, the first that was signed out first, from the database. What is seen after the
 * reading has begun is read as well, or is told by `session.ended`: so whoever listens to that before it begins misses nothing.
 *
 * All that are stored are told, though nobody says how long ago a commit took place. The row of a session that was signed out
 * is removed when a token could not live as long, and only when none is stored any more, that is, when all have expired
 * (session.sql.ts). So one that is not found has no token that is alive, however old the cursor is; and `until`, which counts
 * from now, is not too early for one whose sign-out took an hour to be committed.
 */
@Injectable()
export class PastEndings {
  /** One page at a time, also for many streams: requests need the database, too. */
  private turn: Promise<unknown> = Promise.resolve();

  constructor(private readonly sql: Sql) {}

  /**
   * @param lastEventId cursor to go on from. Without one, or with one that is none of this database: all
   * @returns the pages, and the place to go on from when all were read
   * @throws OAuthError `server_error` on a standby, and errors of the database
   */
  async begin(
    lastEventId: string | undefined,
  ): Promise<{ place: string; pages: AsyncGenerator<PastPage, void> }> {
    const [here] = await this.sql.query<Place & Record<string, unknown>>(PLACE, []); // before the reading, which sees more
    const { cursor: place, until } = here!;
    if (place === null) throw databaseUnavailable();
    return { place, pages: this.pages(await this.startOf(lastEventId), until, place) };
  }

  private async startOf(lastEventId: string | undefined): Promise<string> {
    const cursor = parseCursor(lastEventId);
    if (!cursor) return ALL;
    const statement = this.sql.distributed ? START_DISTRIBUTED : START;
    const [row] = await this.sql.query<{ start: string }>(statement, [cursor.ms, cursor.xmin]);
    return row!.start;
  }

  private async *pages(start: string, until: Date, place: string): AsyncGenerator<PastPage, void> {
    let [at, sessionId] = [start, BEGINNING.sessionId];
    for (;;) {
      const rows = await this.inTurn(() => this.read(at, sessionId));
      const last = rows.at(-1);
      if (!last) return;
      const ended = rows.map((row) => endedOf(row, until));
      yield { ended, cursor: cursorBefore(last.endedAt, place) };
      if (rows.length < PAGE) return;
      ({ at, sessionId } = last);
    }
  }

  private read(at: string, sessionId: string): Promise<Row[]> {
    return this.sql.query<Row>(this.sql.distributed ? READ_DISTRIBUTED : READ, [at, sessionId]);
  }

  private inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.turn.then(work);
    this.turn = result.catch(() => undefined);
    return result;
  }
}

function endedOf({ userId, sessionId, deviceId, endedAt }: Row, until: Date): EndedSession {
  return { userId, sessionId, deviceId, endedAt, until };
}

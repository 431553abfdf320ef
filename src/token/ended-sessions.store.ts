import type { Sql } from '../database/sql.js';
import type { Session } from '../events.js';
import { cursorAt } from './ended-sessions.cursor.js';
import { LONGEST_TOKEN_TTL } from './key-life.js';

/** A session that was signed out, as it is read. */
type Ended = Session & { readonly endedAt: Date };

/** Until where sign-outs were read: all that the snapshot sees, and that was signed out before the time. */
export interface Place {
  /** Time of the database, as text: a Date would lose its microseconds. */
  readonly at: string;
  /** Which transactions were under way (`pg_snapshot`); null: asked of a standby, which does not know. */
  readonly snapshot: string | null;
  /** Whether `at` is the time of the reading: after a long pause it is not, and there is more to read. */
  readonly isNow: boolean;
  /** The place for others to go on from (ended-sessions.cursor.ts); null: asked of a standby. */
  readonly cursor: string | null;
  /** No token of a session that was read can be alive after this. */
  readonly until: Date;
}

/** Seconds before the last reading's time at which the next begins: a crash of the server may give numbers out once more. */
const AGAIN_S = 1;
/** The same after a reading that failed: the database may be another machine since then, with a clock of its own. */
const CLOCKS_DIFFER_S = 10;
/** Seconds that a transaction may take that writes no number: one of an older version, or by hand. */
const WITHOUT_NUMBER_S = 10;

const SNAPSHOT = `CASE WHEN NOT pg_is_in_recovery() THEN pg_current_snapshot()::text END`;

/** Seconds by which an instance's clock may be off when it signs a token. */
const CLOCK_OFF_S = 60;

/**
 * An SQL expression: when the last token has expired of a session whose end is seen now. It counts from now, not from the
 * sign-out, until whose commit its tokens were refreshed; what is being stored just now was signed before. The lives of tokens
 * are those of all instances, also before their last restart (KeyStore.ensureTokenTtl).
 */
export const UNTIL = `now() + make_interval(secs => ${LONGEST_TOKEN_TTL} + ${CLOCK_OFF_S})`;

/** Where to begin: now. Its row is a `Place`. */
export const PLACE = {
  name: 'ended-sessions-place',
  text: `
    SELECT now()::text AS at, ${SNAPSHOT} AS snapshot, true AS "isNow", ${cursorAt('now()')} AS cursor, ${UNTIL} AS until`,
};

/** Sessions that one statement reads: far below its timeout, however many one user has signed out in a moment. */
export const PAGE = 1000;

/** Behind which session the next page of a reading begins. */
export interface After {
  /** Time of the sign-out, as text: a Date would lose its microseconds. */
  readonly at: string;
  readonly sessionId: string;
}

export const BEGINNING: After = { at: '-infinity', sessionId: '00000000-0000-0000-0000-000000000000' };

/** What a page is told of. */
export interface EndedPage {
  readonly place: Place;
  readonly ended: Ended[];
  /** Undefined behind the last page. */
  readonly next: After | undefined;
}

/** A session with its `key`, the time of its sign-out as text. */
export type EndedRow = Ended & { readonly key: string };

/** @param ended by time, then by id */
export function nextOf(ended: readonly EndedRow[]): After | undefined {
  const last = ended.length < PAGE ? undefined : ended.at(-1);
  return last && { at: last.key, sessionId: last.sessionId };
}

/** @param order by which no index is walked through, unless `which` is a range of it */
const endedWhere = (which: string, order = `signed_out_at + interval '0'`): string => `(
      SELECT user_id, session_id, device_id, signed_out_at FROM refresh_tokens
      WHERE ${which} AND (signed_out_at, session_id) > ($5::timestamptz, $6::uuid)
      ORDER BY ${order}, session_id LIMIT ${PAGE})`;

/** An SQL expression: the number of no transaction yet. A larger one is of another cluster, whose dump was restored here. */
export const NEXT_XID = 'pg_snapshot_xmax(pg_current_snapshot())::text::bigint';
const XMAX = 'pg_snapshot_xmax($2::pg_snapshot)::text::bigint';

// By hand: every instance asks twice a second. One row is the place, and the others are the sessions. One whose
// number was not given out yet is found by its time alone.
const READ = {
  name: 'ended-sessions',
  text: `
    SELECT least(now(), $1::timestamptz + make_interval(secs => $4))::text AS at, ${SNAPSHOT} AS snapshot,
      now() <= $1::timestamptz + make_interval(secs => $4) AS "isNow", ${cursorAt('now()')} AS cursor, ${UNTIL} AS until,
      NULL::uuid AS "userId", NULL::uuid AS "sessionId", NULL::uuid AS "deviceId", NULL::timestamptz AS "endedAt", NULL AS key
    UNION ALL (SELECT NULL, NULL, NULL::boolean, NULL, NULL::timestamptz, user_id, session_id, device_id, signed_out_at, signed_out_at::text AS key
    FROM (
      ${endedWhere(
        `signed_out_at >= greatest($1::timestamptz - make_interval(secs => $3), $5::timestamptz)
        AND signed_out_at < $1::timestamptz + make_interval(secs => $4)`,
        'signed_out_at',
      )} UNION ALL ${endedWhere(
        `signed_out_xid BETWEEN ${XMAX} AND ${NEXT_XID} AND signed_out_at < $1::timestamptz - make_interval(secs => $3)`,
      )} UNION ALL ${endedWhere(
        `signed_out_xid = ANY (ARRAY(SELECT xid::text::bigint FROM pg_snapshot_xip($2::pg_snapshot) AS xid))`,
      )} UNION ALL ${endedWhere(
        `signed_out_xid IS NULL AND signed_out_at >= $1::timestamptz - interval '${WITHOUT_NUMBER_S} s'`,
      )}
    ) AS ended ORDER BY signed_out_at, session_id LIMIT ${PAGE})`,
};

/**
 * Reads the sessions that were signed out and committed since a place, each at least once, whatever happened meanwhile.
 *
 * What a snapshot does not see was under way, or began later: then its number is among those that the snapshot lists, or not
 * below its `xmax` (which may be lower than the numbers of some that are under way). So the next reading finds it by its
 * number, however long its commit took: behind a lost standby, or in a prepared transaction, that may be an hour. No bound on
 * how long a sign-out takes is needed, and no clock. Most are found by their time, which lets a long pause be read in parts.
 *
 * Numbers mean the same after a crash and on a standby that took over, but those whose transactions were lost are given out
 * once more. Such sign-outs began after the place, so they are found by their time; that needs clocks of two machines that
 * differ by no more than `CLOCKS_DIFFER_S` around a reading that failed, and `AGAIN_S` where none did. A standby tells of
 * what it sees, but is no place to go on from: its snapshot does not say what is under way.
 *
 * A Citus cluster has no numbers that all of its nodes share: see endedOnCluster.
 *
 * @param certain whether the place is of the last reading, which went well
 * @param seconds of sign-outs that are read at once
 * @param after the page before; the place of a reading is that of its first page, which sees the least
 */
export async function endedSince(
  sql: Sql,
  { at, snapshot }: Place,
  certain: boolean,
  seconds: number,
  after = BEGINNING,
): Promise<EndedPage> {
  const behind = certain ? AGAIN_S : CLOCKS_DIFFER_S;
  const rows = await sql.query<
    (Place & Record<keyof EndedRow, null>) | (EndedRow & Record<keyof Place, null>)
  >(READ, [at, snapshot, behind, seconds, after.at, after.sessionId]);
  const ended = rows.filter((row) => row.at === null);
  return { place: rows.find((row) => row.at !== null)!, ended, next: nextOf(ended) };
}

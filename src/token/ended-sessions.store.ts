import type { Sql } from '../database/sql.js';
import type { Session } from '../events.js';
import { cursorAt } from './ended-sessions.cursor.js';
import { LONGEST_TOKEN_TTL } from './key-life.js';

/** A session that was signed out, as it is read. */
export type Ended = Session & { readonly endedAt: Date };

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

const ENDED = `
    SELECT NULL, NULL, NULL::boolean, NULL, NULL::timestamptz, user_id, session_id, device_id, signed_out_at
    FROM refresh_tokens WHERE`;

const XMAX = 'pg_snapshot_xmax($2::pg_snapshot)::text::bigint';

// By hand: every instance asks twice a second. One row is the place, and the others are the sessions.
const READ = {
  name: 'ended-sessions',
  text: `
    SELECT least(now(), $1::timestamptz + make_interval(secs => $4))::text AS at, ${SNAPSHOT} AS snapshot,
      now() <= $1::timestamptz + make_interval(secs => $4) AS "isNow", ${cursorAt('now()')} AS cursor, ${UNTIL} AS until,
      NULL::uuid AS "userId", NULL::uuid AS "sessionId", NULL::uuid AS "deviceId", NULL::timestamptz AS "endedAt"
    UNION ALL${ENDED} signed_out_at >= $1::timestamptz - make_interval(secs => $3)
      AND signed_out_at < $1::timestamptz + make_interval(secs => $4)
    UNION ALL${ENDED} signed_out_xid BETWEEN ${XMAX} AND ${XMAX} + 1000000000000 -- so that the plan goes by the number
      AND signed_out_at < $1::timestamptz - make_interval(secs => $3)
    UNION ALL${ENDED} signed_out_xid = ANY (ARRAY(SELECT xid::text::bigint FROM pg_snapshot_xip($2::pg_snapshot) AS xid))
    UNION ALL${ENDED} signed_out_xid IS NULL AND signed_out_at >= $1::timestamptz - interval '${WITHOUT_NUMBER_S} s'`,
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
 */
export async function endedSince(
  sql: Sql,
  { at, snapshot }: Place,
  certain: boolean,
  seconds: number,
): Promise<{ place: Place; ended: Ended[] }> {
  const behind = certain ? AGAIN_S : CLOCKS_DIFFER_S;
  const rows = await sql.query<(Place & Record<keyof Ended, null>) | (Ended & Record<keyof Place, null>)>(
    READ,
    [at, snapshot, behind, seconds],
  );
  return { place: rows.find((row) => row.at !== null)!, ended: rows.filter((row) => row.at === null) };
}

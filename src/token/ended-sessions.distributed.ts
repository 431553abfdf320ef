import type { Sql } from '../database/sql.js';
import { cursorAt } from './ended-sessions.cursor.js';
import {
  BEGINNING,
  nextOf,
  PAGE,
  UNTIL,
  type EndedPage,
  type EndedRow,
  type Place,
} from './ended-sessions.store.js';

/**
 * Seconds that are read again: a sign-out is committed within 2 s of its time, or rolled back (ChannelHistory.transaction);
 * the commit itself takes less than one, or is cancelled, which may let it be seen up to 5 s later (cancelling-client.ts).
 */
const AGAIN_S = 8;
/** The same after a reading that failed: a node that was away may only now make visible what it had committed. */
const AFTER_FAILURE_S = 10;

const PLACE = {
  name: 'ended-sessions-place-distributed',
  text: `
    SELECT least(now(), $1::timestamptz + make_interval(secs => $2))::text AS at, 'by time' AS snapshot,
      now() <= $1::timestamptz + make_interval(secs => $2) AS "isNow", ${cursorAt('now()')} AS cursor, ${UNTIL} AS until`,
};

const READ = {
  name: 'ended-sessions-distributed',
  text: `
    SELECT user_id AS "userId", session_id AS "sessionId", device_id AS "deviceId", signed_out_at AS "endedAt",
      signed_out_at::text AS key
    FROM refresh_tokens
    WHERE signed_out_at >= greatest($1::timestamptz - make_interval(secs => $2), $4::timestamptz)
      AND signed_out_at < $1::timestamptz + make_interval(secs => $3)
      AND (signed_out_at, session_id) > ($4::timestamptz, $5::uuid)
    ORDER BY signed_out_at, session_id LIMIT ${PAGE}`,
};

/**
 * On a Citus cluster: what was signed out since a place, by the coordinator's clock, which all sign-outs write (`now()` is
 * evaluated there). Numbers of transactions are each node's own, and its snapshots as well. What a node has not committed
 * when it is read has begun less than AGAIN_S ago, so the next reading finds it.
 *
 * @param certain whether the reading before went well; it fails while any node is away, and then it goes on from where it was
 * @param seconds of sign-outs that are read at once
 * @param after the page before
 */
export async function endedOnCluster(
  sql: Sql,
  { at }: Place,
  certain: boolean,
  seconds: number,
  after = BEGINNING,
): Promise<EndedPage> {
  const [place] = await sql.query<Place & Record<string, unknown>>(PLACE, [at, seconds]); // before the reading, which sees more
  const behind = certain ? AGAIN_S : AFTER_FAILURE_S;
  const values = [at, behind, seconds, after.at, after.sessionId];
  const ended = await sql.query<EndedRow & Record<string, unknown>>(READ, values);
  return { place: place!, ended, next: nextOf(ended) };
}

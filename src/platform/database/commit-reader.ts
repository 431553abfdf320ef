import { placeOf } from './page.js';

/**
 * Readers of rows by time miss nothing, although a row has the time of its change and may be committed later:
 * 1. A row is not older than the start of its transaction, which PostgreSQL lists within MARGIN of the start.
 * 2. So rows before `horizon` are complete: the audit trail is sent up to there, in order.
 * 3. New rows are behind `newSince`, the start of any transaction that has ended since the last reading.
 * 4. A failover ends all transactions. A standby may lack commits, so its readings give no cursor.
 * 5. Cursors are times, valid after a restored backup. If the database's clock is set back, so are readers.
 *    Not listed: transactions of other roles, and prepared ones (distributed, after a failed node).
 */
export interface Moment {
  /** Time of the database; microseconds since the epoch, as all places. */
  readonly at: number;
  readonly isStandby: boolean;
  /** Starts of the transactions in progress, by process. */
  readonly inProgress: Readonly<Record<string, number>>;
}

/** Microseconds. */
export const MARGIN = 1_000_000;

/**
 * SQL: the present moment. In progress are transactions of the service, and of its role if they have written
 * (`backend_xid`), but not `pg_dump`. `now()` is before the look at them, however late that is.
 */
export const SELECT_MOMENT = `
  SELECT pg_is_in_recovery() AS "isStandby", ${placeOf('now()')}::float8 AS at, coalesce((
    SELECT json_object_agg(pid, ${placeOf('xact_start')}) FROM pg_stat_activity
    WHERE datname = current_database() AND usename = session_user AND pid <> pg_backend_pid()
      AND xact_start IS NOT NULL
      AND (application_name = current_setting('application_name') OR backend_xid IS NOT NULL)
  ), '{}') AS "inProgress"`;

/** Returns the place before which no row can still be committed. */
export function horizon({ at, inProgress }: Moment): number {
  return Math.min(at - MARGIN, ...Object.values(inProgress));
}

/** Returns the place before which no row was committed after the last moment. */
export function newSince(last: Moment, { inProgress }: Moment): number {
  const ended = Object.entries(last.inProgress).filter(([pid, start]) => inProgress[pid] !== start);
  return Math.min(last.at - MARGIN, ...ended.map(([, start]) => start));
}

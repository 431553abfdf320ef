import { placeOf } from './page.js';

/**
 * Nothing that is committed is missed by a reader of rows in the order of their times, although a transaction may commit late:
 * 1. The time of a row is not before the start of its transaction. PostgreSQL lists a transaction within MARGIN of its start.
 * 2. So rows before `horizon` (MARGIN ago, or the oldest start in progress) are complete, and in the order of the trail.
 * 3. Rows since `newSince` (MARGIN before the last reading, or the start of a transaction that has ended since) include all new ones.
 * 4. After a failover or restart, each transaction that was in progress has ended. A standby may lack commits: its moments are no cursor.
 * 5. Places are times of the database, so they outlast a restored backup; for a clock that was set back, readers go back as well.
 * Not listed are transactions of other roles, and those that Citus completes after a failure of a node (`recover_2pc_interval`).
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
 * SQL: the present moment. In progress are transactions of the service, and those of its role that have written something, but not those
 * of `pg_dump`. `now()` is before the look at them, however late that is.
 */
export const SELECT_MOMENT = `
  SELECT pg_is_in_recovery() AS "isStandby", ${placeOf('now()')}::float8 AS at, coalesce((
    SELECT json_object_agg(pid, ${placeOf('xact_start')}) FROM pg_stat_activity
    WHERE datname = current_database() AND usename = session_user AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
      AND (application_name = current_setting('application_name') OR backend_xid IS NOT NULL)
  ), '{}') AS "inProgress"`;

/** Returns the place before which no row can still be committed. */
export function horizon({ at, inProgress }: Moment): number {
  return Math.min(at - MARGIN, ...Object.values(inProgress));
}

/** Returns the place since which all rows are that were committed after the last moment. */
export function newSince(last: Moment, { inProgress }: Moment): number {
  const ended = Object.entries(last.inProgress).filter(([pid, start]) => inProgress[pid] !== start);
  return Math.min(last.at - MARGIN, ...ended.map(([, start]) => start));
}

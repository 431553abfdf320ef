/**
 * Seconds by which a cursor's time lies before the reading that it stands for: sign-outs may be written by a machine whose
 * clock is behind (after a failover), or without a number, or on a node of a Citus cluster; see ended-sessions.store.ts.
 */
const OVERLAP_S = 10;

/**
 * A place in the endings of sessions, for `Last-Event-ID` (contract §8). All of them were told that were signed out before its
 * time, by transactions that had ended: those have a number below `xmin`. So a sign-out whose commit takes an hour is found
 * after it, by its number. Nothing in it is of one instance; a restored database makes of it a place too early, or none.
 */
export interface Cursor {
  /** Milliseconds since the epoch, by the database's clock, less the overlap. */
  readonly ms: number;
  /** As text: it may be larger than what a number holds. */
  readonly xmin: string;
}

/** @param at SQL expression: the time of the place. @returns one for the cursor's text; null on a standby, which is no place */
export function cursorAt(at: string): string {
  return `CASE WHEN NOT pg_is_in_recovery() THEN
    (floor(extract(epoch FROM ${at}) * 1000) - ${OVERLAP_S * 1000})::bigint || '-' || pg_snapshot_xmin(pg_current_snapshot())
  END`;
}

/** @param at time of a sign-out: all that had been signed out before it were told, as `place` sees them */
export function cursorBefore(at: Date, place: string): string {
  return `${at.getTime() - OVERLAP_S * 1000}-${place.split('-')[1]}`;
}

/** @returns undefined for what is no cursor of ours. No number is too large for the database. */
export function parseCursor(text: string | undefined): Cursor | undefined {
  const [, ms, xmin] = /^(\d{1,15})-(\d{1,18})$/.exec(text ?? '') ?? [];
  return xmin === undefined ? undefined : { ms: Number(ms), xmin };
}

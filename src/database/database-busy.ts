/**
 * How many calls may wait for one thing of the database: about as many as a process at full speed serves in a second. Any
 * more would wait in vain, and take memory meanwhile.
 */
export const MOST_WAITING = 10_000;

/** The database cannot keep up with the calls: try again later. */
export class DatabaseBusy extends Error {
  override readonly name = 'DatabaseBusy';
  /** An SQLSTATE (insufficient_resources), so that it is judged like PostgreSQL's own errors (errors/database-error.ts). */
  readonly code = '53000';
}

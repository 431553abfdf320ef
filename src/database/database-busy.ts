/**
 * So many may wait for one thing of the database: about what a process at full speed serves in a second. Whoever comes
 * while they wait would wait in vain, and costs memory meanwhile.
 */
export const MOST_WAITING = 10_000;

/** The database is slower than what is asked of it: try again later. */
export class DatabaseBusy extends Error {
  override readonly name = 'DatabaseBusy';
  /** An SQLSTATE (insufficient_resources), so that it is judged like PostgreSQL's own errors (errors/database-error.ts). */
  readonly code = '53000';
}

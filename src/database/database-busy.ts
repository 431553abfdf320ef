/** Calls that may wait for the database: about as many as a process serves in a second. More would only use memory. */
export const MOST_WAITING = 10_000;

export class DatabaseBusy extends Error {
  override readonly name = 'DatabaseBusy';
  /** SQLSTATE insufficient_resources, for errors/database-error.ts. */
  readonly code = '53000';
}

/** A statement that was not answered in time, and is cancelled. */
export class StatementGivenUp extends Error {
  override readonly name = 'StatementGivenUp';
  /** PostgreSQL's query_canceled, so that it is judged as such (errors/database-error.ts). */
  readonly code = '57014';

  constructor() {
    super('Query read timeout'); // pg's words
  }
}

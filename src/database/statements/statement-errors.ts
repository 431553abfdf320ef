// PostgreSQL's query_canceled, so that errors/database-error.ts takes both for errors of the server.
const CANCELED = '57014';

/** A statement that was not answered in time. */
export class StatementGivenUp extends Error {
  override readonly name = 'StatementGivenUp';
  readonly code = CANCELED;

  constructor() {
    super('Query read timeout'); // pg's words
  }
}

/**
 * The commit did not wait for the standby, because the wait was cancelled. PostgreSQL calls that a success with a warning; here
 * it is none: what only one server has can be lost with it.
 */
export class CommitUnconfirmed extends Error {
  override readonly name = 'CommitUnconfirmed';
  readonly code = CANCELED;

  constructor() {
    super('the commit is not known to be on a standby');
  }
}

/**
 * Whether a notice says that a commit has not waited for the standby. The name of PostgreSQL's function, since messages are
 * translated (`lc_messages`); the message as well, since Citus hands on those of its workers under another name.
 */
export function isUnconfirmed(notice: {
  readonly routine?: string | undefined;
  readonly message?: string | undefined;
}): boolean {
  const isOfWait = /^canceling (the )?wait for synchronous/.test(notice.message ?? '');
  return notice.routine === 'SyncRepWaitForLSN' || isOfWait;
}

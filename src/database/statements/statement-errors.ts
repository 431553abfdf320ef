// query_canceled, for errors/database-error.ts
const CANCELED = '57014';

export class StatementTimedOut extends Error {
  override readonly name = 'StatementTimedOut';
  readonly code = CANCELED;

  constructor() {
    super('Query read timeout'); // pg's words
  }
}

/** The commit's wait for the standby was cancelled. For PostgreSQL a success with a warning, but one server may lose it. */
export class CommitUnconfirmed extends Error {
  override readonly name = 'CommitUnconfirmed';
  readonly code = CANCELED;

  constructor() {
    super('the commit is not known to be on a standby');
  }
}

/**
 * Whether a notice reports that a commit has not waited for the standby: by PostgreSQL's function, since messages are
 * translated (`lc_messages`), or by the message, since Citus forwards the workers' messages under another function.
 */
export function isUnconfirmed(notice: {
  readonly routine?: string | undefined;
  readonly message?: string | undefined;
}): boolean {
  const isOfWait = /^canceling (the )?wait for synchronous/.test(notice.message ?? '');
  return notice.routine === 'SyncRepWaitForLSN' || isOfWait;
}

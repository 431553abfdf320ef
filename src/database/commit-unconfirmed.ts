interface Notice {
  readonly routine?: string | undefined;
  readonly message?: string | undefined;
}

/**
 * The commit did not wait for the standby, because somebody has cancelled the wait. PostgreSQL calls that a success with a
 * warning; here it is none: what only one server has can be lost with it.
 */
export class CommitUnconfirmed extends Error {
  override readonly name = 'CommitUnconfirmed';
  /** PostgreSQL's query_canceled, so that it is judged as such (errors/database-error.ts). */
  readonly code = '57014';

  constructor() {
    super('the commit is not known to be on a standby');
  }
}

/**
 * Whether a notice says that a commit has not waited for the standby. The name of PostgreSQL's function, since messages are
 * translated (`lc_messages`); the message as well, since Citus hands on those of its workers under another name.
 */
export function isUnconfirmed({ routine, message }: Notice): boolean {
  return routine === 'SyncRepWaitForLSN' || /^canceling (the )?wait for synchronous/.test(message ?? '');
}

import { isDatabaseAway } from './database-error.js';
import { OAuthError } from './oauth-error.js';

/**
 * What a client is told of an error that is not its own: that the database is away, and trying again in a second makes sense
 * (contract §3), or nothing but that something failed. The error itself is the `cause`, for the log.
 */
export function toServerError(thrown: unknown): OAuthError {
  if (isDatabaseAway(thrown)) return databaseUnavailable(thrown);
  return new OAuthError('server_error', 'something went wrong', { cause: thrown });
}

/** @param cause what the database's client said, if there was an error at all */
export function databaseUnavailable(cause?: unknown): OAuthError {
  return new OAuthError('server_error', 'the database is unavailable', {
    ...(cause !== undefined && { cause }),
    headers: { 'Retry-After': '1' },
  });
}

import { isDatabaseAway } from './database-error.js';
import { OAuthError } from './oauth-error.js';

/** Makes a `server_error` of an unexpected error, which becomes its `cause`, for the log only. */
export function toServerError(thrown: unknown): OAuthError {
  if (isDatabaseAway(thrown)) return databaseUnavailable(thrown);
  return new OAuthError('server_error', 'something went wrong', { cause: thrown });
}

/** Makes the error for an unavailable database: clients may retry after a second (contract §3). */
export function databaseUnavailable(cause?: unknown): OAuthError {
  return new OAuthError('server_error', 'the database is unavailable', {
    ...(cause !== undefined && { cause }),
    headers: { 'Retry-After': '1' },
  });
}

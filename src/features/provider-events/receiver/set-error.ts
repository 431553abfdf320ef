import type { Response } from 'express';
import { ERROR_STATUS, OAuthError } from '../../../platform/errors/oauth-error.js';
import { OAuthErrorFilter } from '../../../platform/http/errors/oauth-error.filter.js';

/** RFC 8935 §2.4. */
export type SetErrorCode =
  'invalid_request' | 'invalid_key' | 'invalid_issuer' | 'invalid_audience' | 'authentication_failed';

/** Refusal of a Security Event Token. */
export class SetError extends OAuthError {
  constructor(
    readonly err: SetErrorCode,
    description: string,
    cause?: unknown,
  ) {
    super('invalid_request', description, { ...(cause !== undefined && { cause }) });
  }
}

/** Writes errors as `{err, description}`. If the database is away, a transmitter shall send again. */
export const setErrorFilter = new OAuthErrorFilter(ERROR_STATUS, (error, _request, response: Response) => {
  if (error.error === 'server_error' && 'Retry-After' in error.headers) response.status(503);
  const err = error instanceof SetError ? error.err : error.error;
  response.json({ err, description: error.description });
  return true;
});

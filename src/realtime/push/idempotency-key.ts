import { OAuthError } from '../../platform/errors/oauth-error.js';

const LONGEST_KEY = 255;

/**
 * Returns the key under which an answer is kept: a client's keys belong to its service key.
 * @param authorization header with the service key
 * @param key header `Idempotency-Key`, if any
 * @throws OAuthError `invalid_request`
 */
export function idempotencyKeyOf(authorization: string, key: string | undefined): string | undefined {
  if (key === undefined) return undefined;
  if (key === '' || key.length > LONGEST_KEY) {
    throw new OAuthError('invalid_request', `Idempotency-Key must have 1 to ${LONGEST_KEY} characters`);
  }
  const [, serviceKey] = authorization.split(/ +/);
  return `${serviceKey} ${key}`;
}

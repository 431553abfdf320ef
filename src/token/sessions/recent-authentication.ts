import { OAuthError } from '../../platform/errors/oauth-error.js';

/** Seconds since the authentication of a user, for a call that others must not make in their name. @public */
export const MOST_AGE = 300;

/** The user must authenticate again before a call (RFC 9470 §3). @public */
export function authenticateAgain(message: string): OAuthError {
  const challenge = `Bearer error="insufficient_user_authentication", max_age="${MOST_AGE}"`;
  return new OAuthError('insufficient_user_authentication', message, {
    headers: { 'WWW-Authenticate': challenge },
  });
}

import { errorCode } from '../../platform/errors/error-facts.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import type { RefusalReason } from './sign-in-columns.js';

/** Seconds. A session may end at any time. */
const RETRY_AFTER = '60';

export function toOAuthError(reason: Exclude<RefusalReason, 'claims'>): OAuthError {
  if (reason === 'suspended') {
    return new OAuthError('access_denied', 'the user is suspended', { reason });
  }
  if (reason === 'signed_out') return endedMeanwhile();
  const message = `the user has too many ${reason}s: sign out of some of them first`;
  return new OAuthError('slow_down', message, { headers: { 'Retry-After': RETRY_AFTER } });
}

/** The user was signed out everywhere, or by the provider, since the sign-in began. */
export function endedMeanwhile(): OAuthError {
  const reason = 'signed_out';
  return new OAuthError('invalid_grant', 'the user was signed out during the sign-in', { reason });
}

/** Throws an error of the database, or what it means. */
export function rethrow(error: unknown): never {
  if (!isProofUsed(error)) throw error;
  throw new OAuthError('invalid_dpop_proof', 'the DPoP proof was used before');
}

const UNIQUE_VIOLATION = '23505';

/**
 * Whether a transaction failed because an access token with this `jti` is stored: its proof was used. The
 * name of the constraint may end with the number of a shard.
 */
export function isProofUsed(error: unknown): boolean {
  if (errorCode(error) !== UNIQUE_VIOLATION) return false;
  const { constraint = '' } = error as { readonly constraint?: string };
  return constraint.startsWith('access_tokens_pkey');
}

import { hash } from 'node:crypto';
import { uuidOfHash } from '../platform/http/parameters/uuid.js';

/**
 * Returns the `user_id` of an identity: SHA-256 of provider and provider_user_id, as a UUID of version 8
 * (RFC 9562 §5.8).
 *
 * Derived instead of random: one statement records a whole sign-in, concurrent first sign-ins agree, and
 * identities need no index. The name of a provider contains no NUL, so different pairs have different hashed
 * texts.
 */
export function deriveUserId(provider: string, providerUserId: string): string {
  return uuidOfHash(hash('sha256', `${provider}\0${providerUserId}`, 'buffer'));
}

import { createHash } from 'node:crypto';
import { uuidOfHash } from '../http/parameters/uuid.js';

/**
 * The `user_id` of an identity: SHA-256 of provider and provider_user_id, as a UUID of version 8 (RFC 9562 §5.8).
 *
 * Derived instead of random, so that the id is known before the database is asked: one statement records a whole
 * sign-in, first sign-ins that race agree, and no index over identities is needed beside the primary key.
 * A provider's name holds no NUL, so different pairs have different hashed texts.
 */
export function userIdOf(provider: string, providerUserId: string): string {
  return uuidOfHash(createHash('sha256').update(`${provider}\0${providerUserId}`, 'utf8').digest());
}

import { createHash } from 'node:crypto';

/**
 * The `user_id` of an identity: SHA-256 of provider and provider_user_id, as a UUID of version 8 (RFC 9562 §5.8).
 *
 * Derived instead of random, so that the id is known before the database is asked: one statement records a whole
 * sign-in, first sign-ins that race agree, and no index over identities is needed beside the primary key.
 * A provider's name holds no NUL, so two different pairs never hash the same text.
 */
export function userIdOf(provider: string, providerUserId: string): string {
  const bytes = createHash('sha256')
    .update(`${provider}\0${providerUserId}`, 'utf8')
    .digest()
    .subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x80; // version 8
  bytes[8] = (bytes[8]! & 0x3f) | 0x80; // variant
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

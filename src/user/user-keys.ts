import { hash } from 'node:crypto';
import { uuidOfHash } from '../http/parameters/uuid.js';

/**
 * The `user_id` of an identity: SHA-256 of provider and provider_user_id, as a UUID of version 8 (RFC 9562 §5.8).
 *
 * Derived instead of random: one statement records a whole sign-in, concurrent first sign-ins agree, and identities need no index.
 * The name of a provider contains no NUL, so different pairs have different hashed texts.
 */
export function userIdOf(provider: string, providerUserId: string): string {
  return uuidOfHash(hash('sha256', `${provider}\0${providerUserId}`, 'buffer'));
}

/** Characters of a key, so that any key fits into an index: UTF-16 units. */
const LONGEST = 255;

/**
 * Returns the key by which a name or an e-mail address is searched (`username_key`, `email_key`): without differences of case, width
 * and composition. Upper case, since lower case depends on the place in the word (Greek sigma); the Turkish letters `İ` and `ı` count
 * as `I`, as people type them. The key of a prefix is a prefix of the key, unless a combining character follows.
 */
export function searchKey(text: string): string {
  const key = text.normalize('NFKC').toLowerCase().toUpperCase().replaceAll('I\u0307', 'I');
  return key.slice(0, LONGEST).replace(/[\ud800-\udbff]$/, '');
}

import { createHash } from 'node:crypto';

/**
 * SHA-256 of a provider and a name that it gave (a subject, a session, the `jti` of a logout token): all that the database
 * keeps of it. As a JSON array, so that no other provider and name have the same text.
 */
export function hashOfName(provider: string, name: string): Buffer;
export function hashOfName(provider: string, name: string | null): Buffer | null;
export function hashOfName(provider: string, name: string | null): Buffer | null {
  if (name === null) return null;
  return createHash('sha256')
    .update(JSON.stringify([provider, name]))
    .digest();
}

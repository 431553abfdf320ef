import { createHash } from 'node:crypto';

/**
 * SHA-256 of a provider and something that it named (a subject, a session, the `jti` of a logout token): all that the database
 * keeps of it. As a JSON array, so that no other texts give the same.
 */
export function hashOfName(provider: string, ...names: readonly string[]): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([provider, ...names]))
    .digest();
}

/** The same of something that may have no name. */
export function hashIfNamed(provider: string, name: string | null): Buffer | null {
  return name === null ? null : hashOfName(provider, name);
}

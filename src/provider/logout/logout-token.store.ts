import type { EntityManager } from 'typeorm';
import { hashOfName } from './hash-of-name.js';
import type { Logout } from './logout-claims.js';

/** Seconds beyond its end: instances know the database's clock only so well. */
const LONGER_S = 60;

// Of two that have the same token, the second waits for the first one's transaction.
const REMEMBER = `
  INSERT INTO logout_tokens (token_hash, expires_at) VALUES ($1, to_timestamp($2))
  ON CONFLICT (token_hash) DO NOTHING RETURNING 1`;

/**
 * Remembers that a logout token is obeyed, until it is good no more.
 *
 * @param manager of the transaction that obeys it
 * @returns whether it was not obeyed before
 */
export async function rememberLogout(
  manager: EntityManager,
  provider: string,
  { jti, until }: Logout,
): Promise<boolean> {
  const rows = await manager.query<unknown[]>(REMEMBER, [hashOfName(provider, jti), until + LONGER_S]);
  return rows.length > 0;
}

const FORGET = 'DELETE FROM logout_tokens WHERE token_hash = $1';

/** Deletes what `rememberLogout` has stored, for a transaction that does not end all sessions. */
export async function forgetLogout(
  manager: EntityManager,
  provider: string,
  { jti }: Pick<Logout, 'jti'>,
): Promise<void> {
  await manager.query(FORGET, [hashOfName(provider, jti)]);
}

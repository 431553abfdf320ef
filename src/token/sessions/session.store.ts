import type { EntityManager } from 'typeorm';
import type { Session } from '../../events.js';
import { OPEN } from './session.sql.js';

/** Sessions of a user that are meant; `device`: all of that device. */
export type SessionScope = 'session' | 'device' | 'others' | 'all';

/** Session that a scope refers to; without `sessionId` if the caller is not the user. */
export type ScopeOf = Omit<Session, 'sessionId'> & { readonly sessionId: string | null };

/** Sessions that one statement ends, well within its timeout. */
export const SLICE = 1000;

// A sign-out expires the session (spec §2.2: a refresh token "ends only by expiry") and marks it as signed out.
const end = (which: string): string => `
  UPDATE refresh_tokens SET signed_out_at = now(), expires_at = least(expires_at, now())
  WHERE user_id = $1 AND ${which}
  RETURNING device_id`;

/**
 * Makes the statement that ends a slice of the sessions of user `$1` for which a condition holds. `FOR UPDATE` locks in one order,
 * and skips sessions that a concurrent sign-out has ended.
 */
export const ending = (which: string): string =>
  end(`session_id = ANY (ARRAY(
    SELECT session_id FROM refresh_tokens
    WHERE user_id = $1 AND ${OPEN} AND (${which})
    ORDER BY device_id, expires_at, session_id LIMIT ${SLICE} FOR UPDATE))`);

const END_ONE = end('session_id = $2 AND signed_out_at IS NULL');

const END = ending(`
    $2 = 'all'
    OR $2 = 'device' AND device_id = $4
    OR $2 = 'others' AND CASE WHEN $4::uuid IS NULL THEN session_id <> $3 ELSE device_id IS DISTINCT FROM $4 END`);

/**
 * Ends a slice of sessions, device by device. After the commit their access tokens are rejected, since verification reads the
 * session; EndedSessions notifies the instances that hold their sockets.
 *
 * @returns the device of each ended session, null for none; fewer than SLICE after the last slice
 */
export async function endSessions(
  manager: EntityManager,
  scope: SessionScope,
  { userId, sessionId, deviceId }: ScopeOf,
): Promise<(string | null)[]> {
  const [statement, values] =
    scope === 'session' ? [END_ONE, [userId, sessionId]] : [END, [userId, scope, sessionId, deviceId]];
  const [ended] = await manager.query<[{ device_id: string | null }[], number]>(statement, values);
  return ended.map((row) => row.device_id);
}

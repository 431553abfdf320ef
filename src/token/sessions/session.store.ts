import type { EntityManager } from 'typeorm';
import type { Session } from '../../events.js';
import { OPEN } from './session.sql.js';

/** Which sessions of a user: with `device`, all of that device. */
export type SessionScope = 'session' | 'device' | 'others' | 'all';

/** What a scope refers to; whoever ends `device` or `all` of somebody else has no session. */
export type ScopeOf = Omit<Session, 'sessionId'> & { readonly sessionId: string | null };

/** Sessions that one statement ends: with more, that of a user with many sessions would reach its timeout. */
export const SLICE = 1000;

// Signing out makes the session expire (spec §2.2: a refresh token "ends only by expiry"), and marks it as signed out.
const end = (which: string): string => `
  UPDATE refresh_tokens SET signed_out_at = now(), expires_at = least(expires_at, now())
  WHERE user_id = $1 AND ${which}
  RETURNING device_id`;

/**
 * The statement that ends a slice of those sessions of the user `$1` for which a condition holds. `FOR UPDATE` takes the locks
 * in one order, waits for another sign-out, and skips the sessions that it has ended.
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
 * Ends a slice of sessions, device by device. From the commit on, their access tokens are refused, since verification reads the
 * session. EndedSessions tells the instances that hold their sockets. Where there is nothing to end, nothing is written.
 *
 * @param of the session, device and user that the scope refers to
 * @returns the device of each session that was ended; null for a session without one. Fewer than SLICE: it was the last slice
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

import type { EntityManager } from 'typeorm';
import type { Session } from '../events.js';

/** Which sessions of a user: with `device`, all of that device. */
export type SessionScope = 'session' | 'device' | 'others' | 'all';

/** What a scope refers to; whoever ends `device` or `all` of somebody else has no session. */
export type ScopeOf = Omit<Session, 'sessionId'> & { readonly sessionId: string | null };

// Signing out makes the session expire (spec §2.2: a refresh token "ends only by expiry"), and marks it as signed out.
const end = (xid: string, which: string): string => `
  UPDATE refresh_tokens SET
    signed_out_at = now(), signed_out_xid = ${xid}, expires_at = least(expires_at, now())
  WHERE user_id = $1 AND signed_out_at IS NULL AND (${which})
  RETURNING device_id`;

/** The statement that ends those sessions of the user `$1` for which a condition holds. */
export const ending = (which: string): { readonly alone: string; readonly distributed: string } => ({
  /** With the number of this transaction: EndedSessions finds it by that. */
  alone: end('pg_current_xact_id()::text::bigint', which),
  /** On Citus, where each node numbers its own transactions, it finds it by time. */
  distributed: end('NULL', which),
});

const END = ending(`
    $2 = 'all'
    OR $2 = 'session' AND session_id = $3
    OR $2 = 'device' AND device_id = $4
    OR $2 = 'others' AND CASE WHEN $4::uuid IS NULL THEN session_id <> $3 ELSE device_id IS DISTINCT FROM $4 END`);

/**
 * Ends sessions. From the commit on, their access tokens are refused, since verification reads the session. EndedSessions
 * tells the instances that hold their sockets. Where there is nothing to end, nothing is written.
 *
 * @param of the session, device and user that the scope refers to
 * @param distributed `Sql.distributed`
 * @returns the device of each session that was ended; null for a session without one
 */
export async function endSessions(
  manager: EntityManager,
  scope: SessionScope,
  { userId, sessionId, deviceId }: ScopeOf,
  distributed = false,
): Promise<(string | null)[]> {
  const values = [userId, scope, sessionId, deviceId];
  const [ended] = await manager.query<[{ device_id: string | null }[], number]>(
    distributed ? END.distributed : END.alone,
    values,
  );
  return ended.map((row) => row.device_id);
}

import type { EntityManager } from 'typeorm';
import type { Session } from '../events.js';
import { OPEN } from './session.sql.js';

/** Which sessions of a user: with `device`, all of that device. */
export type SessionScope = 'session' | 'device' | 'others' | 'all';

/** What a scope refers to; whoever ends `device` or `all` of somebody else has no session. */
export type ScopeOf = Omit<Session, 'sessionId'> & { readonly sessionId: string | null };

/**
 * Sessions that one statement ends. With more, the statement of a user with many sessions would reach its timeout. On Citus the
 * events of a slice are appended one by one (ChannelHistory), within the bound of a transaction there.
 */
export function sliceSize(distributed: boolean): number {
  return distributed ? 100 : 1000;
}

// Signing out makes the session expire (spec §2.2: a refresh token "ends only by expiry"), and marks it as signed out.
const end = (xid: string, which: string): string => `
  UPDATE refresh_tokens SET
    signed_out_at = now(), signed_out_xid = ${xid}, expires_at = least(expires_at, now())
  WHERE user_id = $1 AND ${which}
  RETURNING device_id`;

// `FOR UPDATE` takes the locks in one order, waits for another sign-out, and skips the sessions that it has ended.
const slice = (which: string, most: number): string => `session_id = ANY (ARRAY(
    SELECT session_id FROM refresh_tokens
    WHERE user_id = $1 AND ${OPEN} AND (${which})
    ORDER BY device_id, expires_at, session_id LIMIT ${most} FOR UPDATE))`;

/** A statement that ends sessions, with the number of this transaction: EndedSessions finds it by that … */
const NUMBERED = 'pg_current_xact_id()::text::bigint';
/** … and on Citus, where each node numbers its own transactions, by time. */
const BY_TIME = 'NULL';

interface Ending {
  readonly alone: string;
  readonly distributed: string;
}

/** The statement that ends a slice of those sessions of the user `$1` for which a condition holds. */
export const ending = (which: string): Ending => ({
  alone: end(NUMBERED, slice(which, sliceSize(false))),
  distributed: end(BY_TIME, slice(which, sliceSize(true))),
});

const ONE = 'session_id = $2 AND signed_out_at IS NULL';
const END_ONE: Ending = { alone: end(NUMBERED, ONE), distributed: end(BY_TIME, ONE) };

const END = ending(`
    $2 = 'all'
    OR $2 = 'device' AND device_id = $4
    OR $2 = 'others' AND CASE WHEN $4::uuid IS NULL THEN session_id <> $3 ELSE device_id IS DISTINCT FROM $4 END`);

/**
 * Ends a slice of sessions, device by device. From the commit on, their access tokens are refused, since verification reads the
 * session. EndedSessions tells the instances that hold their sockets. Where there is nothing to end, nothing is written.
 *
 * @param of the session, device and user that the scope refers to
 * @param distributed `Sql.distributed`
 * @returns the device of each session that was ended; null for a session without one. Fewer than `sliceSize`: it was the last
 *   slice
 */
export async function endSessions(
  manager: EntityManager,
  scope: SessionScope,
  { userId, sessionId, deviceId }: ScopeOf,
  distributed = false,
): Promise<(string | null)[]> {
  const form = distributed ? 'distributed' : 'alone';
  const [statement, values] =
    scope === 'session'
      ? [END_ONE[form], [userId, sessionId]]
      : [END[form], [userId, scope, sessionId, deviceId]];
  const [ended] = await manager.query<[{ device_id: string | null }[], number]>(statement, values);
  return ended.map((row) => row.device_id);
}

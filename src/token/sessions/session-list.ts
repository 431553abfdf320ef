import type { EntityManager } from 'typeorm';
import { isOnline, NO_DEVICE } from '../../channel/presence.sql.js';
import { cursorOf, placeIn, placeOf } from '../../http/parameters/cursor.js';
import type { RefreshToken } from './refresh-token.entity.js';
import { LIVING } from './session.sql.js';

/** A live session. */
export type KnownSession = Pick<
  RefreshToken,
  'sessionId' | 'deviceId' | 'createdAt' | 'lastUsedAt' | 'expiresAt' | 'authTime' | 'address' | 'userAgent'
> & {
  /** Whether it is bound to a key (contract §5). */
  readonly bound: boolean;
  /** Whether its device, or the user without a device, has an open socket on some instance. */
  readonly online: boolean;
};

/** Sessions that one call lists (contract §9). */
const PAGE = 100;

const PLACE = placeOf('last_used_at');

// The page is selected first, so that sockets of its devices only are read. No index on `last_used_at`: each use of a session would
// write it. It uses tables of several modules.
const SESSIONS = `
  SELECT session_id AS "sessionId", device_id AS "deviceId", created_at AS "createdAt", last_used_at AS "lastUsedAt",
    expires_at AS "expiresAt", auth_time AS "authTime", address, user_agent AS "userAgent", jkt IS NOT NULL AS bound,
    ${PLACE} AS place, ${isOnline('$1', `coalesce(s.device_id, '${NO_DEVICE}')`)} AS online
  FROM (
    SELECT * FROM refresh_tokens
    WHERE user_id = $1 AND ${LIVING} AND ($2::bigint IS NULL OR (-${PLACE}, session_id) > (-$2::bigint, $3::uuid))
    ORDER BY last_used_at DESC, session_id LIMIT ${PAGE + 1}
  ) AS s
  ORDER BY last_used_at DESC, session_id`;

/** Returns a page of the live sessions of a user, newest use first. @param cursor `next` of the page before */
export async function findSessions(
  manager: EntityManager,
  userId: string,
  cursor?: string,
): Promise<{ sessions: KnownSession[]; next: string | undefined }> {
  const after = placeIn(cursor);
  const rows = await manager.query<(KnownSession & { place: string })[]>(SESSIONS, [
    userId,
    after?.place,
    after?.id,
  ]);
  const sessions = rows.slice(0, PAGE);
  const end = rows.length > PAGE ? sessions.at(-1) : undefined;
  return { sessions, next: end && cursorOf({ place: end.place, id: end.sessionId }) };
}

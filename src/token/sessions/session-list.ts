import type { EntityManager } from 'typeorm';
import { isOnline, NO_DEVICE } from '../../channel/presence.sql.js';
import { answer } from '../../http/answer.js';
import { parseCursor } from '../../http/parameters/cursor.js';
import { readPage, selectPage } from '../../database/page.js';
import { browserOf } from '../../http/user-agent.js';
import { LIVING } from './session.sql.js';
import { SessionView, type SessionList } from './sessions.dto.js';

// The page is selected first, so that sockets of its devices only are read. It uses tables of several modules.
const SESSIONS = `
  SELECT session_id, device_id, created_at, last_used_at, expires_at, auth_time, address, user_agent, cursor,
    jkt IS NOT NULL AS bound, ${isOnline('$1', `coalesce(s.device_id, '${NO_DEVICE}')`)} AS online
  FROM (${selectPage('refresh_tokens', 'last_used_at', 'session_id', LIVING)}) AS s
  ORDER BY last_used_at DESC, session_id`;

/** Returns a page of the live sessions of a user, newest use first. @param cursor `next_cursor` of the page before */
export async function findSessions(
  manager: EntityManager,
  { user_id: userId, provider }: { readonly user_id: string; readonly provider: string },
  cursor?: string,
): Promise<SessionList> {
  type Row = Omit<SessionView, 'provider' | 'browser' | 'os'>;
  const viewOf = (row: Row): SessionView =>
    answer(SessionView, { ...row, provider, ...browserOf(row.user_agent) });
  const { page, next } = await readPage(manager, SESSIONS, viewOf, userId, parseCursor(cursor));
  return { sessions: page, ...next };
}

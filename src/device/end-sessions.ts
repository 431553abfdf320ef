import type { Client } from 'pg';
import type { EntityManager } from 'typeorm';
import { plainArray } from '../platform/database/batching.js';
import type { Sql } from '../platform/database/sql.js';
import type { EndCause, SessionIds } from '../platform/events.js';
import { isOfProgram } from '../platform/http/parameters/uuid.js';
import type { Ended, NamesAtProvider, ScopeOf, SessionScope } from '../token/sessions/session.store.js';
import {
  END_EACH_SESSION,
  END_EVERY_SESSION,
  END_EXCESS,
  END_SESSION,
  END_SESSIONS,
  END_SESSIONS_AT_PROVIDER,
  HAS_OPEN_SESSION,
  HAVE_OPEN_SESSIONS,
} from './sign-out.sql.js';

/** The sessions of a sign-out: the scope, and the session, device and user that it refers to. */
export interface Target extends ScopeOf {
  readonly scope: SessionScope;
}

/** Finds out, without a lock, for which of several targets there is a session to end. */
export async function haveOpenSessions(sql: Sql, targets: readonly Target[]): Promise<boolean[]> {
  const columns = [
    targets.map(({ userId }) => userId),
    targets.map(({ scope }) => scope),
    targets.map(({ sessionId }) => sessionId),
    targets.map(({ deviceId }) => deviceId),
  ];
  const isOne = targets.length === 1;
  const rows = await sql.query<{ hasOpen: boolean }>(
    isOne ? HAS_OPEN_SESSION : HAVE_OPEN_SESSIONS,
    isOne ? columns.map(([value]) => value) : columns.map(plainArray),
  );
  return rows.map(({ hasOpen }) => hasOpen);
}

/**
 * Ends a slice of sessions. After the commit their access tokens are rejected, since verification reads the
 * session; EndedSessions notifies the instances that hold their sockets.
 * @returns the ended sessions; fewer than SLICE after the last slice
 */
export function endSessions(
  manager: EntityManager,
  { scope, userId, sessionId, deviceId }: Target,
  cause: EndCause | null = null,
): Promise<Ended[]> {
  return scope === 'session'
    ? end(manager, END_SESSION.text, [userId, sessionId, cause])
    : end(manager, END_SESSIONS.text, [userId, scope, sessionId, deviceId, cause]);
}

/**
 * Ends a slice of the sessions of a user that have these names at the provider, as `endSessions` does.
 * @param until latest begin of a session; null: any
 */
export function endSessionsAtProvider(
  manager: EntityManager,
  userId: string,
  { session, subjects }: NamesAtProvider,
  cause: EndCause | null,
  until: Date | null,
): Promise<Ended[]> {
  return end(manager, END_SESSIONS_AT_PROVIDER.text, [userId, session, subjects, cause, until]);
}

/**
 * Ends a slice of the sessions of a user beyond `most`, of which the given one stays. Those of programs count
 * apart.
 */
export function endExcess(
  manager: EntityManager,
  { userId, sessionId, deviceId }: SessionIds,
  most: number,
  cause: EndCause,
): Promise<Ended[]> {
  const ofProgram = isOfProgram(deviceId);
  return end(manager, END_EXCESS.text, [userId, sessionId, deviceId, most, cause, ofProgram]);
}

/** Ends sessions of several users, who are locked. @returns those that have ended */
export function endEachSession(
  manager: EntityManager,
  sessions: readonly SessionIds[],
  cause: EndCause | null,
): Promise<SessionIds[]> {
  const userIds = sessions.map(({ userId }) => userId);
  const sessionIds = sessions.map(({ sessionId }) => sessionId);
  return end<SessionIds>(manager, END_EACH_SESSION.text, [userIds, sessionIds, cause]);
}

/** Ends the sessions of all users, in a transaction that locks the tables. @returns number of sessions */
export async function endEverySession(client: Client): Promise<number> {
  const [ofUsers, ofSessions] = END_EVERY_SESSION;
  await client.query(ofUsers);
  return (await client.query(ofSessions)).rowCount ?? 0;
}

async function end<Row = Ended>(manager: EntityManager, text: string, values: unknown[]): Promise<Row[]> {
  const [ended] = await manager.query<[Row[], number]>(text, values);
  return ended;
}

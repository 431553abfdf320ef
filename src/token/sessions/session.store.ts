import { Injectable } from '@nestjs/common';
import { DataSource, In, IsNull, MoreThan, Not, type EntityManager, type SelectQueryBuilder } from 'typeorm';
import { writeLastUse } from '../../platform/database/last-use.js';
import { readPage, selectPage } from '../../platform/database/page.js';
import { Sql } from '../../platform/database/sql.js';
import type { SessionIds } from '../../platform/events.js';
import { parseCursor } from '../../platform/http/parameters/cursor.js';
import { Session } from './session.entity.js';
import { LIVING, MOST_SESSIONS, OPEN, SESSION_USE } from './session.sql.js';
import type { SessionView } from './sessions.dto.js';

export { MOST_SESSIONS };

/** Sessions of a user that are meant; `device`: all of that device. */
export type SessionScope = 'session' | 'device' | 'others' | 'all';

/** Session that a scope refers to; without `sessionId` if the caller is not the user. */
export type ScopeOf = Omit<SessionIds, 'sessionId'> & { readonly sessionId: string | null };

export type Ended = Pick<SessionIds, 'sessionId' | 'deviceId'>;

/**
 * Names of sessions at a provider, as hashes (see Session); `subjects` null: any. At least one is present.
 */
export interface NamesAtProvider {
  readonly session: Buffer | null;
  readonly subjects: readonly Buffer[] | null;
}

/** Users that one name may have: a provider with one name for all sessions must not end all of them. */
const MOST_USERS = 100;

// MATERIALIZED: else PostgreSQL may read all sessions by user_id until it has found as many users as LIMIT
// says.
const USERS = `
  WITH meant AS MATERIALIZED (
    -- The sessions that a logout token means (docs/provider-sign-out.md#back-channel-logout), as sign-out.sql.ts ends them.
    SELECT user_id FROM refresh_tokens WHERE signed_out_at IS NULL AND (
      provider_session = $1
      OR provider_subject = ANY ($2::bytea[]) AND ($1::bytea IS NULL OR provider_session IS NULL))
  )
  SELECT DISTINCT user_id AS "userId" FROM meant ORDER BY user_id LIMIT ${MOST_USERS + 1}`;

/** Error: more than MOST_USERS users have one name. */
export class TooManyUsers extends Error {
  override readonly name = 'TooManyUsers';
}

/**
 * Finds the users with sessions that are meant and not signed out, ordered by id. If the provider names only
 * the session, its subjects are added to the names: other sessions of the subject may be meant as well.
 * @throws TooManyUsers
 * @public
 */
export async function usersAtProvider(
  manager: EntityManager,
  session: Buffer | null,
  subjects: readonly Buffer[],
): Promise<{ readonly userIds: readonly string[]; readonly names: NamesAtProvider }> {
  if (session !== null && subjects.length === 0) {
    const rows = await manager
      .createQueryBuilder(Session, 'session')
      .select('session.providerSubject', 'subject')
      .distinct()
      .where('provider_session = :session AND provider_subject IS NOT NULL', { session })
      .limit(MOST_USERS)
      .getRawMany<{ subject: Buffer }>();
    subjects = rows.map(({ subject }) => subject);
  }
  const users = await manager.query<{ userId: string }[]>(USERS, [session, subjects]);
  if (users.length > MOST_USERS) throw new TooManyUsers(`more than ${MOST_USERS} users have the same name`);
  return { userIds: users.map(({ userId }) => userId), names: { session, subjects } };
}

/**
 * Returns the names of a user at the provider, by the sessions that have begun by the user's own identity;
 * MOST_USERS at most.
 * @public
 */
export async function subjectsOfSessions(manager: EntityManager, userId: string): Promise<Buffer[]> {
  const rows = await manager
    .createQueryBuilder(Session, 'session')
    .select('session.providerSubject', 'subject')
    .distinct()
    .where({ userId, joinedIdentityId: IsNull() })
    .andWhere('provider_subject IS NOT NULL')
    .limit(MOST_USERS)
    .getRawMany<{ subject: Buffer }>();
  return rows.map(({ subject }) => subject);
}

/** Whether a session of some users, live or not, has begun by a joined identity. @public */
export function haveJoinedSession(manager: EntityManager, userIds: readonly string[]): Promise<boolean> {
  return manager.existsBy(Session, { userId: In(userIds), joinedIdentityId: Not(IsNull()) });
}

/** Whether a session of a user has begun after a time. @public */
export function hasBegunSince(manager: EntityManager, userId: string, time: Date): Promise<boolean> {
  return manager.existsBy(Session, { userId, createdAt: MoreThan(time) });
}

// SQL conditions on a row of another table with `user_id`; each is about one user, so that the node of the
// user answers it.
/** @public */
export const hasAccessToken = (table: string): string => `EXISTS (
  SELECT FROM access_tokens a WHERE a.user_id = ${table}.user_id AND a.expires_at > now())`;
/** @public */
export const hasSession = (table: string): string => `EXISTS (
  SELECT FROM refresh_tokens t WHERE t.user_id = ${table}.user_id AND ${LIVING})`;

/** The row names a session, and it is live. @public */
export const hasSessionOf = (table: string): string => `EXISTS (
  SELECT FROM refresh_tokens t
  WHERE t.user_id = ${table}.user_id AND t.session_id = ${table}.session_id AND ${LIVING})`;

export type SessionKey = Pick<SessionIds, 'userId' | 'sessionId'>;

/** Ended sessions of a user that are read at most. */
const MOST_ENDED = 20_000;

interface DeviceFilter {
  /** Only these devices are looked for. */
  readonly among?: readonly string[];
  /** Of a transaction, if any. */
  readonly manager?: EntityManager;
}

// Raw: the query builder has no limit for each user. In the order of the index refresh_tokens_open.
const COUNT_LIVE = {
  name: 'sessions-count-live',
  text: `
    SELECT wanted.user_id AS "userId", live.count
    FROM unnest($1::uuid[]) AS wanted (user_id)
    CROSS JOIN LATERAL (
      SELECT count(*)::int AS count FROM (
        SELECT FROM refresh_tokens WHERE user_id = wanted.user_id AND ${LIVING}
        ORDER BY device_id, expires_at LIMIT $2
      ) AS counted
    ) AS live`,
};

const COLUMNS = `
  session_id, device_id, created_at, last_used_at, least(expires_at, idle_ends_at) AS expires_at,
    idle_ends_at AS idle_expires_at,
    CASE WHEN idle_ends_at < expires_at THEN 'idle' ELSE coalesce(ends_because, 'lifetime') END AS ends_because,
    auth_time, address, user_agent, jkt IS NOT NULL AS bound`;

/** Raw: `selectPage` compares places with the cursor. */
const PAGE = `
  SELECT ${COLUMNS}, cursor
  FROM (${selectPage('refresh_tokens', 'last_used_at', 'session_id', LIVING)}) AS page
  ORDER BY last_used_at DESC, session_id`;

/** Raw: the same columns. A use moves none of these rows, so a reader of all of them misses none. */
const BY_IDS = `
  SELECT ${COLUMNS} FROM refresh_tokens
  WHERE user_id = $1 AND ${LIVING} AND ($2::uuid IS NULL OR session_id > $2::uuid)
  ORDER BY session_id LIMIT 100`;

export type SessionRow = Omit<SessionView, 'provider' | 'online' | 'browser' | 'os'>;

@Injectable()
export class SessionStore {
  constructor(
    protected readonly sql: Sql,
    private readonly dataSource: DataSource,
  ) {}

  /**
   * Returns a page of the live sessions of a user, newest use first.
   * @param cursor `next_cursor` of the previous page
   */
  findPage(
    userId: string,
    cursor?: string,
  ): Promise<{ readonly page: SessionRow[]; readonly next: { next_cursor?: string } }> {
    const { manager } = this.dataSource;
    return readPage(manager, PAGE, (row: SessionRow) => row, userId, parseCursor(cursor));
  }

  /** Returns some live sessions of a user in the order of their ids, behind one; none: there are no more. */
  findBehind(userId: string, sessionId?: string): Promise<SessionRow[]> {
    return this.dataSource.manager.query<SessionRow[]>(BY_IDS, [userId, sessionId]);
  }

  /** Counts the live sessions of each user. @param most limit of each count */
  async countLive(userIds: readonly string[], most = MOST_SESSIONS): Promise<Map<string, number>> {
    const rows = await this.sql.query<{ userId: string; count: number }>(COUNT_LIVE, [userIds, most]);
    return new Map(rows.map(({ userId, count }) => [userId, count]));
  }

  /** Finds the devices on which a user has a live session. */
  async findLiveDevices(userId: string, { among, manager }: DeviceFilter = {}): Promise<Set<string>> {
    const query = (manager ?? this.dataSource.manager)
      .createQueryBuilder(Session, 'session')
      .select('session.deviceId', 'deviceId')
      .distinct()
      .where({ userId })
      .andWhere(`device_id IS NOT NULL AND ${LIVING}`)
      .orderBy('session.deviceId'); // the order of the index refresh_tokens_open
    if (among) query.andWhere('device_id = ANY (:among)', { among });
    const rows = await query.getRawMany<{ deviceId: string }>();
    return new Set(rows.map(({ deviceId }) => deviceId));
  }

  /** Finds the devices of a user with ended sessions that are not removed yet, each with the last end. */
  async findEndedDevices(userId: string, manager = this.dataSource.manager): Promise<Map<string, Date>> {
    const ended = manager
      .createQueryBuilder(Session, 'session')
      .select(['session.deviceId AS "deviceId"', 'least(expires_at, idle_ends_at) AS ended_at'])
      .where({ userId })
      .andWhere('device_id IS NOT NULL AND least(expires_at, idle_ends_at) <= now()')
      .limit(MOST_ENDED);
    const rows = await manager
      .createQueryBuilder()
      .select(['"deviceId"', 'max(ended_at) AS "endedAt"'])
      .from(`(${ended.getQuery()})`, 'ended')
      .setParameters(ended.getParameters())
      .groupBy('"deviceId"')
      .getRawMany<{ deviceId: string; endedAt: Date }>();
    return new Map(rows.map(({ deviceId, endedAt }) => [deviceId, endedAt]));
  }

  /** Finds a session, live or not. */
  find({ userId, sessionId }: SessionKey): Promise<Session | null> {
    return this.dataSource.manager.findOneBy(Session, { userId, sessionId });
  }

  isLive(
    { userId, sessionId }: SessionKey,
    manager: EntityManager = this.dataSource.manager,
  ): Promise<boolean> {
    const sessions = manager.createQueryBuilder(Session, 'session');
    return sessions.where({ userId, sessionId }).andWhere(LIVING).getExists();
  }

  /** Finds the live sessions of a user that have begun by a joined identity. @public */
  findJoined(
    userId: string,
    joinedIdentityId: string,
    manager: EntityManager = this.dataSource.manager,
  ): Promise<SessionIds[]> {
    const sessions = manager.createQueryBuilder(Session, 'session');
    return sessions
      .select(['session.userId', 'session.sessionId', 'session.deviceId'])
      .where({ userId, joinedIdentityId })
      .andWhere(LIVING)
      .getMany();
  }

  /**
   * Returns whether a session of a user, live or not, has begun by the user's own identity within some
   * seconds.
   */
  hasBegun(userId: string, seconds: number): Promise<boolean> {
    const sessions = this.dataSource.manager.createQueryBuilder(Session, 'session');
    return sessions
      .where({ userId, joinedIdentityId: IsNull() })
      .andWhere('coalesce(begun_at, created_at) > now() - make_interval(secs => :seconds)', { seconds })
      .getExists();
  }

  /** Lets the live sessions of a user end no later than a time. @returns whether this ends one earlier */
  async limit(userId: string, at: Date, sessionId?: string): Promise<boolean> {
    const update = this.dataSource.manager
      .createQueryBuilder()
      .update(Session)
      .set({ expiresAt: at, endsBecause: 'session_expiry' })
      .where(`user_id = :userId AND ${LIVING} AND expires_at > :at`, { userId, at });
    if (sessionId !== undefined) update.andWhere('session_id = :sessionId', { sessionId });
    return (await update.execute()).affected! > 0;
  }

  /** Finds sessions of a user that have expired without a sign-out, and when the next one expires. */
  async findExpired(userId: string, most: number): Promise<{ expired: Ended[]; next: Date | null }> {
    const sessions = (condition: string): SelectQueryBuilder<Session> =>
      this.dataSource.manager
        .createQueryBuilder(Session, 'session')
        .where({ userId })
        .andWhere(`${OPEN} AND ${condition}`);
    const expired = await sessions('expires_at <= now()')
      .select(['session.sessionId AS "sessionId"', 'session.deviceId AS "deviceId"'])
      .limit(most)
      .getRawMany<Ended>();
    const row = await sessions('expires_at > now()')
      .select('min(session.expiresAt)', 'next')
      .getRawOne<{ next: Date | null }>();
    return { expired, next: row!.next };
  }

  /** Sets the last use of sessions to now, at most once a minute and session. @param keys each once */
  markUsed(keys: readonly SessionKey[]): Promise<void> {
    const rows = keys.map(({ userId, sessionId }) => [userId, sessionId]);
    return writeLastUse(this.sql, SESSION_USE, rows);
  }
}

import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { SessionIds } from '../../../platform/events.js';
import type { LastIdentity } from '../../../user/last-identity.js';
import { hasSessionOf, MOST_SESSIONS } from '../../../token/sessions/session.store.js';
import { UserStore } from '../../../user/user.store.js';
import { JoinedIdentity } from './joined-identity.entity.js';
import { JoinedSession } from './joined-session.entity.js';

/**
 * Sessions of a user by joined identities that are noted, live or not: all are read at a sign-in, and at a
 * parting. More than the live ones that a user may have.
 */
const MOST_NOTED = 2 * MOST_SESSIONS;

/** Identity that is to be joined. */
export type NewIdentity = Omit<JoinedIdentity, 'linkedAt'> & { readonly identity: LastIdentity };

// Raw: the link is locked, so that its removal waits for this session, or this finds it removed.
const BEGIN = `
  WITH link AS (
    SELECT user_id, identity_id FROM joined_identities WHERE user_id = $1 AND identity_id = $2 FOR KEY SHARE
  )
  INSERT INTO joined_sessions (user_id, session_id, identity_id, expires_at)
  SELECT user_id, $3, identity_id, now() + make_interval(secs => $4) FROM link
  RETURNING session_id`;

/** Identities that users have joined to their own, and the sessions that have begun by them. */
@Injectable()
export class JoinedIdentities {
  constructor(
    private readonly dataSource: DataSource,
    private readonly users: UserStore,
  ) {}

  /** Returns the joined identities of a user, by provider. */
  find(userId: string, manager: EntityManager = this.dataSource.manager): Promise<JoinedIdentity[]> {
    return manager.find(JoinedIdentity, { where: { userId }, order: { provider: 'ASC' } });
  }

  findOne(identityId: string): Promise<JoinedIdentity | null> {
    return this.dataSource.manager.findOneBy(JoinedIdentity, { identityId });
  }

  /**
   * Joins an identity that no user has. Its row in `users` keeps every instance from making a user of it.
   * @returns when; undefined: a concurrent call was faster
   */
  async add(manager: EntityManager, { identity, ...joined }: NewIdentity): Promise<Date | undefined> {
    const { identityId, userId: mergedInto, provider, providerUserId } = joined;
    const hidden = { userId: identityId, provider, providerUserId, identity, mergedInto };
    if (!(await this.users.hide(manager, hidden))) return undefined;
    const { linkedAt } = await manager.save(JoinedIdentity, joined);
    return linkedAt;
  }

  /**
   * Parts an identity: the next sign-in by it makes another user.
   * @returns the sessions that have begun by it
   */
  async remove(manager: EntityManager, { userId, identityId }: JoinedIdentity): Promise<SessionIds[]> {
    await manager.delete(JoinedIdentity, { identityId, userId });
    // Only now: whoever had the lock of BEGIN has noted the session, and nobody gets it any more.
    const begun = await this.sessions(identityId, manager);
    await this.users.unhide(manager, { userId: identityId, mergedInto: userId });
    await manager.delete(JoinedSession, { identityId, userId });
    return begun;
  }

  /** Notes that a session has begun by an identity. @param ttl seconds @returns whether it is joined */
  async begin(userId: string, identityId: string, sessionId: string, ttl: number): Promise<boolean> {
    const rows = await this.dataSource.manager.query<object[]>(BEGIN, [userId, identityId, sessionId, ttl]);
    return rows.length > 0;
  }

  /** Returns the identity by which a session has begun; null: the user's own. */
  async ofSession({ userId, sessionId }: Pick<SessionIds, 'userId' | 'sessionId'>): Promise<string | null> {
    const session = await this.dataSource.manager.findOneBy(JoinedSession, { userId, sessionId });
    return session?.identityId ?? null;
  }

  /** @returns whether a user has had so many sessions by joined identities that another must wait */
  async isFull(userId: string): Promise<boolean> {
    return (await this.dataSource.manager.countBy(JoinedSession, { userId })) >= MOST_NOTED;
  }

  /** Returns the ids of the sessions of a user that have begun by a joined identity. */
  async sessionIds(userId: string): Promise<string[]> {
    const sessions = await this.dataSource.manager.findBy(JoinedSession, { userId });
    return sessions.map(({ sessionId }) => sessionId);
  }

  /** Returns the live sessions that have begun by an identity. */
  async sessions(
    identityId: string,
    manager: EntityManager = this.dataSource.manager,
  ): Promise<SessionIds[]> {
    const noted = manager.createQueryBuilder(JoinedSession, 'noted').where({ identityId });
    const sessions = await noted.andWhere(hasSessionOf('noted')).getMany();
    return sessions.map(({ userId, sessionId }) => ({ userId, sessionId, deviceId: null }));
  }

  /** Stores how the provider names a joined identity now. */
  async rename({ identity, ...joined }: NewIdentity): Promise<void> {
    const { userId: mergedInto, identityId, provider, providerUserId, username, email } = joined;
    const hidden = { userId: identityId, provider, providerUserId, identity, mergedInto };
    await this.dataSource.transaction(async (manager) => {
      // Locks in the order of a parting and of a removal: the link, then the hidden user.
      const link = { identityId, userId: mergedInto };
      const { affected } = await manager.update(JoinedIdentity, link, { username, email });
      if (affected! > 0) await this.users.renameHidden(manager, hidden);
    });
  }
}

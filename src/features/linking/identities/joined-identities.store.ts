import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { SessionIds } from '../../../platform/events.js';
import type { SessionOfIdentity } from '../../../user/user-lifecycle.js';
import type { LastIdentity } from '../../../user/last-identity.js';
import { hasSessionOf, MOST_SESSIONS } from '../../../token/sessions/session.store.js';
import { UserStore, type HiddenUser } from '../../../user/user.store.js';
import { JoinedSession } from './joined-session.entity.js';

/**
 * Sessions of a user by joined identities that are noted, live or not: all are read at a sign-in, and at a
 * parting. More than the live ones that a user may have.
 */
const MOST_NOTED = 2 * MOST_SESSIONS;

/** Identity that a user has joined to their own. It is a row of `users` with `merged_into`. */
export interface JoinedIdentity {
  readonly userId: string;
  /** One of each provider. */
  readonly provider: string;
  /** The user id that is derived of it. */
  readonly identityId: string;
  readonly providerUserId: string;
  /** As of the last sign-in by it. */
  readonly username: string | null;
  readonly email: string | null;
  readonly identity: LastIdentity | null;
  readonly linkedAt: Date;
}

/** Identity that is to be joined. */
export type NewIdentity = Omit<JoinedIdentity, 'linkedAt'>;

/** Identities that users have joined to their own, and the sessions that have begun by them. */
@Injectable()
export class JoinedIdentities {
  constructor(
    private readonly dataSource: DataSource,
    private readonly users: UserStore,
  ) {}

  /** Returns the joined identities of a user, by provider. */
  async find(userId: string, manager?: EntityManager): Promise<JoinedIdentity[]> {
    return (await this.users.findHidden(userId, manager)).flatMap(toJoinedIdentity);
  }

  async findOne(identityId: string): Promise<JoinedIdentity | undefined> {
    const user = await this.users.findAny(identityId, this.dataSource.manager);
    return user ? toJoinedIdentity(user)[0] : undefined;
  }

  /**
   * Joins an identity that no user has. Its row in `users` keeps every instance from making a user of it.
   * @returns when; undefined: a concurrent call was faster
   */
  add(manager: EntityManager, joined: NewIdentity): Promise<Date | undefined> {
    return this.users.hide(manager, toHidden(joined));
  }

  /**
   * Parts an identity: the next sign-in by it makes another user.
   * @returns the sessions that have begun by it
   */
  async remove(manager: EntityManager, { userId, identityId }: JoinedIdentity): Promise<SessionIds[]> {
    await this.users.unhide(manager, { userId: identityId, mergedInto: userId });
    // Only now: each session with the lock of `begin` is noted, and no further one gets it.
    const begun = await this.joinedSessions({ identityId }, manager);
    await manager.delete(JoinedSession, { identityId, userId });
    return begun;
  }

  /**
   * Notes that a session has begun by an identity, and how its provider names it now.
   * @param expiresAt end of the session at the latest
   * @returns whether it is joined
   */
  begin(
    { userId, sessionId }: Pick<SessionIds, 'userId' | 'sessionId'>,
    identityId: string,
    expiresAt: Date,
    named?: NewIdentity,
  ): Promise<boolean> {
    return this.dataSource.transaction(async (manager) => {
      // The lock lets a parting wait for this session, or this finds the identity parted.
      const known = await this.users.lockHidden(manager, { userId: identityId, mergedInto: userId });
      if (!known) return false;
      await manager.insert(JoinedSession, { userId, sessionId, identityId, expiresAt });
      if (!named) return true;
      const { username, email, identity } = named;
      const before = { username: known.username, email: known.email, identity: known.identity };
      if (!isDeepStrictEqual(before, { username, email, identity }))
        await this.users.renameHidden(manager, toHidden(named));
      return true;
    });
  }

  /** @returns whether a user has had so many sessions by joined identities that another must wait */
  async isFull(userId: string): Promise<boolean> {
    return (await this.dataSource.manager.countBy(JoinedSession, { userId })) >= MOST_NOTED;
  }

  /** As in UserLifecycle. */
  async joinedSessions(
    { userId, sessionId, identityId }: Partial<SessionOfIdentity>,
    manager: EntityManager = this.dataSource.manager,
  ): Promise<SessionOfIdentity[]> {
    const of = Object.entries({ userId, sessionId, identityId }).filter(([, id]) => id !== undefined);
    const noted = manager.createQueryBuilder(JoinedSession, 'noted').where(Object.fromEntries(of));
    if (identityId !== undefined) noted.andWhere(hasSessionOf('noted'));
    const sessions = await noted.getMany();
    return sessions.map((session) => Object.assign(session, { deviceId: null }));
  }
}

type Hidden = Awaited<ReturnType<UserStore['findHidden']>>[number];

function toHidden(joined: NewIdentity): HiddenUser {
  const {
    userId: mergedInto,
    identityId: userId,
    provider,
    providerUserId,
    username,
    email,
    identity,
  } = joined;
  return { userId, mergedInto, provider, providerUserId, username, email, identity };
}

function toJoinedIdentity({
  userId: identityId,
  mergedInto,
  createdAt: linkedAt,
  ...user
}: Hidden): JoinedIdentity[] {
  const { provider, providerUserId, username, email, identity } = user;
  if (mergedInto === null) return [];
  return [{ userId: mergedInto, provider, identityId, providerUserId, username, email, identity, linkedAt }];
}

import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { LastIdentity } from '../../../user/last-identity.js';
import { UserStore, type HiddenUser } from '../../../user/user.store.js';

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

/** Identities that users have joined to their own. */
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

  /** @returns whether an identity is joined to that of this user */
  async has({ userId, identityId }: Pick<JoinedIdentity, 'userId' | 'identityId'>): Promise<boolean> {
    return (await this.users.mergedInto(identityId)) === userId;
  }

  /**
   * Joins an identity that no user has. Its row in `users` keeps every instance from making a user of it.
   * @returns when; undefined: a concurrent call was faster
   */
  add(manager: EntityManager, joined: NewIdentity): Promise<Date | undefined> {
    return this.users.hide(manager, toHidden(joined));
  }

  /** Parts an identity: the next sign-in by it makes another user. */
  remove(manager: EntityManager, { userId, identityId }: JoinedIdentity): Promise<void> {
    return this.users.unhide(manager, { userId: identityId, mergedInto: userId });
  }

  /** Notes how the provider of an identity names it now. @returns whether it is joined */
  async rename(joined: NewIdentity): Promise<boolean> {
    const known = await this.findOne(joined.identityId);
    if (known?.userId !== joined.userId) return false;
    const { linkedAt: _linkedAt, ...before } = known;
    if (isDeepStrictEqual(before, joined)) return true;
    return this.dataSource.transaction((manager) => this.users.renameHidden(manager, toHidden(joined)));
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

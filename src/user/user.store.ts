import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, IsNull, Not, type EntityManager, type Repository } from 'typeorm';
import { addressKey } from '../platform/config/urls/email-address.js';
import { lastUse, writeLastUse } from '../platform/database/last-use.js';
import { deleteRowsOf } from '../platform/database/of-user.js';
import { placeOf, timeAt } from '../platform/database/page.js';
import { Sql } from '../platform/database/sql.js';
import { formatCursor, parseCursor } from '../platform/http/parameters/cursor.js';
import { deriveUserId } from '../identity/user-id.js';
import type { UserClaims } from '../identity/claims.js';
import { toColumns } from './user-changes.store.js';
import { UserLifecycles } from './user-lifecycle.js';
import { findUsersByName, replaceWords } from './search/user-words.store.js';
import { UserWord } from './search/user-word.entity.js';
import { User } from './user.entity.js';
import { VoidClaims } from './void-claims.entity.js';

const USER_USE = lastUse('users', 'last_seen_at', ['user_id']);

/** Removed users of a page. */
const PAGE = 100;

/** Of a removed user who was suspended, only the id stays. `infinity`: `markUsed` writes no later use. */
const REMOVED = {
  removedAt: () => 'now()',
  suspendedAt: () => 'now()',
  createdAt: () => 'now()',
  lastSeenAt: () => `'infinity'`,
  provider: '',
  providerUserId: '',
  username: null,
  email: null,
  avatarUrl: null,
  identity: null,
  emailKey: null,
  providerClaims: null,
  applicationClaims: null,
  claims: null,
  claimsVersion: '0',
  claimsChangedAt: null,
  sessionsEndedAt: null,
  mergedInto: null,
} as const;

/** User who is created before the first sign-in. */
export interface NewUser extends Pick<User, 'userId' | 'provider' | 'providerUserId' | 'username' | 'email'> {
  readonly claims: UserClaims;
}

/** Identity that is joined to that of another user. */
export interface HiddenUser extends Pick<
  User,
  'userId' | 'provider' | 'providerUserId' | 'username' | 'email' | 'identity'
> {
  readonly mergedInto: string;
}

@Injectable()
export class UserStore {
  private readonly findBatched: (userId: string) => Promise<User | undefined>;

  constructor(
    private readonly sql: Sql,
    @InjectRepository(User) private readonly users: Repository<User>,
    private readonly lifecycles: UserLifecycles,
  ) {
    this.findBatched = sql.batched('user', (userIds: string[]) => this.findEach(userIds));
  }

  /** Finds a user; concurrent calls are batched. */
  find(userId: string): Promise<User | undefined> {
    return this.findBatched(userId);
  }

  /** Finds a user, also one who was removed, or is part of another one; without a lock. @public */
  findAny(userId: string, manager: EntityManager = this.users.manager): Promise<User | null> {
    return manager.findOneBy(User, { userId });
  }

  /** Returns the ids of existing users among some, in order. */
  async findExisting(manager: EntityManager, userIds: readonly string[]): Promise<string[]> {
    const users = await manager.find(User, {
      select: { userId: true },
      where: { userId: In(userIds), removedAt: IsNull() },
      order: { userId: 'ASC' },
    });
    return users.map(({ userId }) => userId);
  }

  /** Returns the names of existing users among some: else the e-mail address, else nothing. */
  async findNames(userIds: readonly string[]): Promise<Map<string, string | undefined>> {
    if (userIds.length === 0) return new Map();
    const users = await this.users.find({
      select: { userId: true, username: true, email: true },
      where: { userId: In(userIds), removedAt: IsNull() },
    });
    return new Map(
      users.map(({ userId, username, email }) => [userId, username?.trim() || email || undefined]),
    );
  }

  /** @returns false if the user exists, or was removed and is kept out */
  async insert(manager: EntityManager, { claims, ...user }: NewUser): Promise<boolean> {
    const emailKey = user.email === null ? null : addressKey(user.email);
    const { raw } = await manager
      .createQueryBuilder()
      .insert()
      .into(User)
      .values({ ...user, emailKey, ...toColumns(claims), lastSeenAt: null })
      .orIgnore()
      .returning('user_id')
      .execute();
    if ((raw as unknown[]).length === 0) return false;
    await replaceWords(manager, [{ ...user, identity: null }]);
    return true;
  }

  /**
   * Keeps an identity, which no user has, from becoming a user: it is joined to that of another one.
   * @returns since when; undefined if there is a user, or an id that is kept out
   * @public
   */
  async hide(manager: EntityManager, hidden: HiddenUser): Promise<Date | undefined> {
    const refused = { suspendedAt: () => 'now()', removedAt: () => 'now()', lastSeenAt: () => `'infinity'` };
    const inserting = manager.createQueryBuilder().insert().into(User);
    const values = { ...hidden, ...refused } as object;
    const { raw } = await inserting.values(values).orIgnore().returning('created_at').execute();
    const [row] = raw as readonly { readonly created_at: Date }[];
    if (row) await replaceWords(manager, [namesOf(hidden)]);
    return row?.created_at;
  }

  /**
   * Replaces the names by which the provider of a hidden identity knows it.
   * @returns whether it is hidden
   * @public
   */
  async renameHidden(manager: EntityManager, hidden: HiddenUser): Promise<boolean> {
    const { userId, mergedInto, username, email, identity } = hidden;
    const names = { username, email, identity: identity as object };
    const { affected } = await manager.update(User, { userId, mergedInto }, names);
    if (affected! > 0) await replaceWords(manager, [namesOf(hidden)]);
    return affected! > 0;
  }

  /** Lets an identity become a user again. @public */
  async unhide(
    manager: EntityManager,
    { userId, mergedInto }: Pick<HiddenUser, 'userId' | 'mergedInto'>,
  ): Promise<void> {
    await manager.delete(User, { userId, mergedInto });
    await deleteRowsOf(manager, userId);
    await manager.delete(UserWord, { userId });
  }

  /** Returns the user to whom the identity of a former user belongs; undefined: it is no such id. */
  async mergedInto(userId: string): Promise<string | undefined> {
    const user = await this.users.findOne({ select: { userId: true, mergedInto: true }, where: { userId } });
    return user?.mergedInto ?? undefined;
  }

  /** Returns those of some ids whose identities belong to other users. @public */
  async findMerged(manager: EntityManager, userIds: readonly string[]): Promise<string[]> {
    if (userIds.length === 0) return [];
    const where = { userId: In(userIds), mergedInto: Not(IsNull()) };
    const users = await manager.find(User, { select: { userId: true }, where });
    return users.map(({ userId }) => userId);
  }

  /**
   * Returns the identities that are joined to that of a user, each with the user id that it had or would
   * have.
   */
  findHidden(mergedInto: string, manager: EntityManager = this.users.manager): Promise<User[]> {
    return manager.find(User, { where: { mergedInto }, order: { provider: 'ASC' } });
  }

  async formerIds(userId: string, manager?: EntityManager): Promise<string[]> {
    return (await this.findHidden(userId, manager)).map((hidden) => hidden.userId);
  }

  /** Returns what there is of a user; undefined: nothing. */
  async stateOf(
    userId: string,
    manager: EntityManager = this.users.manager,
  ): Promise<'user' | 'kept out' | undefined> {
    const select = { userId: true, removedAt: true } as const;
    const user = await manager.findOne(User, { select, where: { userId } });
    return user ? (user.removedAt ? 'kept out' : 'user') : undefined;
  }

  /** Notes that `allow` refuses what the provider says of a user now; the next sign-in replaces that. */
  async noteRefusal(userId: string): Promise<void> {
    const identity = () => `coalesce(identity, '{}') || '{"isRefused": true}'`;
    await this.users.update({ userId, removedAt: IsNull() }, { identity });
  }

  /** Returns the ids of the users of a provider with an e-mail address. */
  async findByEmail(manager: EntityManager, provider: string, email: string, most: number) {
    const where = { emailKey: addressKey(email), provider, removedAt: IsNull() };
    const users = await manager.find(User, { select: { userId: true }, where, take: most });
    return users.map(({ userId }) => userId);
  }

  /** Returns the ids of the users of a provider whose subject at the last sign-in was this one. */
  async findBySubject(manager: EntityManager, provider: string, subject: string): Promise<string[]> {
    const found = await findUsersByName(manager, provider, 'sub', [subject]);
    // without a key
    const derived = await manager.findOneBy(User, { userId: deriveUserId(provider, subject) });
    const users = [...found, ...(derived ? [derived] : [])];
    return users.flatMap(({ userId, identity }) => (identity?.subject === subject ? userId : []));
  }

  /** Sets the last use of users to now, at most once a minute and user. @param userIds each once */
  markUsed(userIds: readonly string[]): Promise<void> {
    const keys = userIds.map((userId) => [userId]);
    return writeLastUse(this.sql, USER_USE, keys);
  }

  /** @returns whether the user exists and was not so before, or a feature had refused sign-ins */
  async setSuspended(manager: EntityManager, userId: string, suspended: boolean): Promise<boolean> {
    const isLifted = !suspended && (await this.lifecycles.permitted(manager, userId));
    const before = { userId, suspendedAt: suspended ? IsNull() : Not(IsNull()) };
    const { affected } = await manager.update(User, before, {
      suspendedAt: suspended ? () => 'now()' : null,
    });
    return affected! > 0 || isLifted;
  }

  /**
   * Removes the row of a locked user only; of a user whom somebody keeps out, the id stays, so that sign-ins
   * are refused until `allowSignIns`.
   * @param until when no token with the present claims can be valid any more
   */
  async remove(manager: EntityManager, userId: string, until: Date): Promise<void> {
    if (await manager.existsBy(User, { userId, claimsChangedAt: Not(IsNull()) })) {
      const voided = { userId, voidedAt: () => 'clock_timestamp()', expiresAt: until };
      await manager.upsert(VoidClaims, voided, ['userId']);
    }
    const staysRefused = await this.lifecycles.removed(manager, userId);
    const ids = [userId, ...(await this.formerIds(userId, manager))];
    for (const id of ids) await deleteRowsOf(manager, id);
    await manager.update(User, { userId, ...(!staysRefused && { suspendedAt: Not(IsNull()) }) }, REMOVED);
    const { affected } = await manager.delete(User, { userId, removedAt: IsNull() });
    if (affected! > 0) await manager.delete(User, { mergedInto: userId });
    // refused as well
    else await manager.update(User, { mergedInto: userId }, { ...REMOVED, mergedInto: userId });
    await manager.delete(UserWord, { userId: In(ids) });
  }

  /** Deletes the id of a removed user who was suspended. @returns whether there is one */
  async allowSignIns(manager: EntityManager, userId: string): Promise<boolean> {
    const { affected } = await manager.delete(User, {
      userId,
      removedAt: Not(IsNull()),
      mergedInto: IsNull(),
    });
    if (affected === 0) return false;
    await manager.delete(User, { mergedInto: userId });
    await this.lifecycles.permitted(manager, userId);
    await this.lifecycles.removed(manager, userId); // forgets the user
    return true;
  }

  /**
   * Returns a page of removed users whose sign-ins are refused, latest first.
   * @param cursor `next_cursor` of the page before
   */
  async findRemoved(
    cursor?: string,
  ): Promise<{ users: { user_id: string; removed_at: Date }[]; next_cursor?: string }> {
    const after = parseCursor(cursor);
    const query = this.users
      .createQueryBuilder('user')
      .addSelect(placeOf('user.removedAt'), 'place')
      .where({ removedAt: Not(IsNull()), mergedInto: IsNull() })
      .orderBy('user.removedAt', 'DESC')
      .addOrderBy('user.userId', 'DESC')
      .limit(PAGE + 1);
    if (after) query.andWhere(`(user.removedAt, user.userId) < (${timeAt(':place')}, :id)`, after);
    const { entities, raw } = await query.getRawAndEntities<{ place: string }>();
    const page = entities.slice(0, PAGE);
    const users = page.map(({ userId, removedAt }) => ({ user_id: userId, removed_at: removedAt! }));
    if (entities.length <= PAGE) return { users };
    return { users, next_cursor: formatCursor({ place: raw[PAGE - 1]!.place, id: page.at(-1)!.userId }) };
  }

  private async findEach(userIds: string[]): Promise<(User | undefined)[]> {
    const users = await this.users.findBy({ userId: In(userIds), removedAt: IsNull() });
    const byId = new Map(users.map((user) => [user.userId, user]));
    return userIds.map((userId) => byId.get(userId));
  }
}

/** A directory finds the identity by them. */
function namesOf(hidden: HiddenUser) {
  return { ...hidden, username: null, email: null };
}

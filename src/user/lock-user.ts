import { In, IsNull, type EntityManager } from 'typeorm';
import { UserLocks } from '../audit/user-locks.js';
import { chunks } from '../platform/database/batching.js';
import { User } from './user.entity.js';

/**
 * Locks a user for a change that the audit trail records, before all other rows: so the events of a user have
 * the order of the commits. Sign-ins of the user wait; pushes wait only for the lock of a removal.
 * @returns name of the user's provider; undefined without such a user
 */
export async function lockUser(
  manager: EntityManager,
  userId: string,
  purpose: 'change' | 'removal' = 'change',
): Promise<string | undefined> {
  const user = await manager.findOne(User, {
    select: { provider: true },
    where: { userId, removedAt: IsNull() },
    lock: { mode: purpose === 'removal' ? 'pessimistic_write' : 'for_no_key_update' },
  });
  return user?.provider;
}

/** Locks a user as `lockUser` does. @returns null without such a user @public */
export function lockWholeUser(manager: EntityManager, userId: string): Promise<User | null> {
  const where = { userId, removedAt: IsNull() };
  return manager.findOne(User, { where, lock: { mode: 'for_no_key_update' } });
}

/**
 * Locks users and removed ones as `lockUser` does, in order of their ids.
 * @returns those with a row
 * @public
 */
export async function lockEach(
  manager: EntityManager,
  userIds: readonly string[],
  purpose: 'change' | 'removal' = 'change',
): Promise<User[]> {
  const mode = purpose === 'removal' ? 'pessimistic_write' : 'for_no_key_update';
  const users: User[] = [];
  for (const userId of userIds.toSorted()) {
    const user = await manager.findOne(User, { where: { userId }, lock: { mode } });
    if (user) users.push(user);
  }
  return users;
}

/** During a removal, `lock` waits. These locks wait neither for each other nor for sign-ins. */
export class StoredUserLocks extends UserLocks {
  /** @param most users of one statement: a distributed database locks rows of one node only */
  constructor(private readonly most: number) {
    super();
  }

  override async lock(
    manager: EntityManager,
    userIds: readonly string[],
  ): Promise<Map<string, 'user' | 'removed'>> {
    const locked = new Map<string, 'user' | 'removed'>();
    for (const some of chunks(userIds, this.most)) {
      const users = await manager.find(User, {
        select: { userId: true, removedAt: true },
        where: { userId: In(some) },
        lock: { mode: 'for_key_share' },
      });
      for (const { userId, removedAt } of users) locked.set(userId, removedAt ? 'removed' : 'user');
    }
    return locked;
  }
}

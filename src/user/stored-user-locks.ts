import { In, IsNull, type EntityManager } from 'typeorm';
import { UserLocks } from '../audit/user-locks.js';
import { User } from './user.entity.js';

/** During a removal, `lock` waits. These locks wait neither for each other nor for sign-ins. */
export class StoredUserLocks extends UserLocks {
  override async lock(manager: EntityManager, userIds: readonly string[]): Promise<string[]> {
    const users = await manager.find(User, {
      select: { userId: true },
      where: { userId: In(userIds), removedAt: IsNull() },
      lock: { mode: 'for_key_share' },
    });
    return users.map(({ userId }) => userId);
  }
}

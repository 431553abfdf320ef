import { IsNull, type EntityManager } from 'typeorm';
import { UserChanges } from './user-changes.store.js';
import { User } from './user.entity.js';

/** Citus locks rows of one node at a time only. */
export class CitusUserChanges extends UserChanges {
  protected override async lock(manager: EntityManager, userIds: readonly string[]): Promise<User[]> {
    const users: User[] = [];
    for (const userId of userIds) {
      const where = { userId, removedAt: IsNull() };
      const user = await manager.findOne(User, { where, lock: { mode: 'for_no_key_update' } });
      if (user) users.push(user);
    }
    return users;
  }
}

import type { EntityManager } from 'typeorm';
import { UserChanges } from './user-changes.store.js';
import type { User } from './user.entity.js';

/** Citus locks rows of one node at a time only. */
export class CitusUserChanges extends UserChanges {
  protected override async lock(manager: EntityManager, userIds: readonly string[]): Promise<User[]> {
    const users: User[] = [];
    for (const userId of userIds) {
      const user = await this.locking(manager).andWhere({ userId }).getOne();
      if (user) users.push(user);
    }
    return users;
  }
}

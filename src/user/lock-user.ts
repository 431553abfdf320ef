import { IsNull, type EntityManager } from 'typeorm';
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

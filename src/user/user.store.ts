import { IsNull, Not, type EntityManager } from 'typeorm';
import { User } from './user.entity.js';

export type Account = Pick<User, 'provider' | 'providerUserId'>;

export function findAccount(manager: EntityManager, userId: string): Promise<Account | null> {
  return manager.findOneBy(User, { userId });
}

/**
 * Locks a user for a change that the audit trail records, before all other rows: so the events of a user have the order of the commits.
 * Sign-ins of the user wait, pushes wait only for `UPDATE`, the lock of a removal.
 * @returns name of the user's provider; undefined without such a user
 */
export async function holdForAudit(
  manager: EntityManager,
  userId: string,
  strength: 'NO KEY UPDATE' | 'UPDATE' = 'NO KEY UPDATE',
): Promise<string | undefined> {
  const text = `SELECT provider FROM users WHERE user_id = $1 FOR ${strength}`;
  const [held] = await manager.query<{ provider: string }[]>(text, [userId]);
  return held?.provider;
}

/** @returns whether the user exists and was not so before */
export async function setSuspended(
  manager: EntityManager,
  userId: string,
  suspended: boolean,
): Promise<boolean> {
  const before = { userId, suspendedAt: suspended ? IsNull() : Not(IsNull()) };
  const { affected } = await manager.update(User, before, { suspendedAt: suspended ? () => 'now()' : null });
  return affected! > 0;
}

/** Removes the row of the user only. */
export async function removeUser(manager: EntityManager, userId: string): Promise<void> {
  await manager.delete(User, { userId });
}

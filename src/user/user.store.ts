import type { EntityManager } from 'typeorm';
import { User } from './user.entity.js';

// Sign-ins and pushes of the user wait for it (user.sql.ts), so the rows that they wrote are seen by the statements after it.
const LOCK = 'SELECT FROM users WHERE user_id = $1 FOR UPDATE';

/**
 * Locks a user for removal: until the transaction ends nobody signs in as them, and nobody pushes to them. First of all locks
 * of a user's rows.
 * @returns whether there is such a user
 */
export async function lockUser(manager: EntityManager, userId: string): Promise<boolean> {
  return (await manager.query<unknown[]>(LOCK, [userId])).length > 0;
}

/** Removes a user, and nothing else of them. */
export async function removeUser(manager: EntityManager, userId: string): Promise<void> {
  await manager.delete(User, { userId });
}

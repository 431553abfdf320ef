import type { EntityManager } from 'typeorm';

/** Locks users against a removal until the transaction ends. UserModule, which lies above, provides it. */
export abstract class UserLocks {
  /** @returns ids of the users that exist */
  abstract lock(manager: EntityManager, userIds: readonly string[]): Promise<string[]>;
}

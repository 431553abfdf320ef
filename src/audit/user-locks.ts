import type { EntityManager } from 'typeorm';

/** Locks users against a removal until the transaction ends. UserModule, which lies above, provides it. */
export abstract class UserLocks {
  /** @returns whether each user exists, or is removed and kept out; the others are not known */
  abstract lock(
    manager: EntityManager,
    userIds: readonly string[],
  ): Promise<ReadonlyMap<string, 'user' | 'removed'>>;
}

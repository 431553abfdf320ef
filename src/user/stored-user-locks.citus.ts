import type { EntityManager } from 'typeorm';
import { StoredUserLocks } from './stored-user-locks.js';

/** A statement of Citus locks rows of one node only. */
export class CitusUserLocks extends StoredUserLocks {
  override async lock(manager: EntityManager, userIds: readonly string[]): Promise<string[]> {
    const locked: string[] = [];
    for (const userId of userIds) locked.push(...(await super.lock(manager, [userId])));
    return locked;
  }
}

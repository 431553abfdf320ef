import { Injectable } from '@nestjs/common';
import { DataSource, In, type EntityManager } from 'typeorm';
import { UserLifecycle } from '../../extensions.js';
import { UserLocks } from '../../audit/user-locks.js';
import { areSameClaims, type Claims } from '../../identity/claims.js';
import { AdmissionClaims } from './admission-claims.entity.js';

/**
 * Claims of the admission service, stored apart from the provider's until the next sign-in, also if
 * `ADMISSION_URL` was removed since.
 */
@Injectable()
@UserLifecycle()
export class AdmissionClaimsStore implements UserLifecycle {
  constructor(
    private readonly dataSource: DataSource,
    private readonly locks: UserLocks,
  ) {}

  /** Returns the claims to lay over the provider's (`layOver`), by user. */
  async overlays(manager: EntityManager, userIds: readonly string[]): Promise<ReadonlyMap<string, Claims>> {
    const rows = await manager.findBy(AdmissionClaims, { userId: In([...userIds]) });
    return new Map(rows.map(({ userId, claims }) => [userId, claims]));
  }

  /** Returns the claims of one user. */
  async findOne(userId: string): Promise<Claims> {
    return (await this.overlays(this.dataSource.manager, [userId])).get(userId) ?? {};
  }

  /** Replaces them; writes nothing without a change, or if the user was removed since. */
  async keep(userId: string, claims: Claims): Promise<void> {
    if (areSameClaims(await this.findOne(userId), claims)) return;
    await this.dataSource.transaction(async (manager) => {
      if (Object.keys(claims).length === 0) return this.forget(manager, userId);
      if ((await this.locks.lock(manager, [userId])).get(userId) !== 'user') return;
      // The type of TypeORM takes unknown values for functions that return SQL.
      await manager.upsert(AdmissionClaims, { userId, claims: claims as Record<string, never> }, ['userId']);
    });
  }

  async forget(manager: EntityManager, userId: string): Promise<void> {
    await manager.delete(AdmissionClaims, { userId });
  }
}

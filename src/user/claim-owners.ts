import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { User } from './user.entity.js';

type Owner = (manager: EntityManager, user: User) => Promise<readonly string[]>;

/** Sources that lie over the provider's claims of a user, so that a change at the provider does not show. */
@Injectable()
export class ClaimOwners {
  private readonly owners: Owner[] = [];

  /** @param owner returns the names of the claims of a user that are its own */
  add(owner: Owner): void {
    this.owners.push(owner);
  }

  /**
   * Returns the names of a user's claims that are not the provider's; among them, the admission service's.
   */
  async namesOf(manager: EntityManager, userId: string): Promise<ReadonlySet<string>> {
    const user = await manager
      .createQueryBuilder(User, 'user')
      .addSelect('user.admissionClaims')
      .where({ userId })
      .getOne();
    if (!user) return new Set();
    const lists = await Promise.all(this.owners.map((owner) => owner(manager, user)));
    return new Set([...Object.keys(user.admissionClaims ?? {}), ...lists.flat()]);
  }
}

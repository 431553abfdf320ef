import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import type { Claims } from '../identity/claims.js';
import { User } from './user.entity.js';

/** Claims of the admission service, stored apart from the provider's until the next sign-in. */
@Injectable()
export class AdmissionClaims {
  constructor(@InjectRepository(User) private readonly users: Repository<User>) {}

  /** Returns the claims to lay over the provider's (`layOver`), if the provider is asked again. */
  async find(userId: string): Promise<Claims> {
    const select = { userId: true, admissionClaims: true } as const;
    const user = await this.users.findOne({ select, where: { userId } });
    return user?.admissionClaims ?? {};
  }

  /** Replaces them; writes nothing without a change. */
  async keep(userId: string, claims: Claims): Promise<void> {
    // The type of TypeORM takes unknown values for functions that return SQL.
    const stored = Object.keys(claims).length > 0 ? (claims as Record<string, never>) : null;
    await this.users
      .createQueryBuilder()
      .update({ admissionClaims: stored })
      .where('user_id = :userId AND removed_at IS NULL', { userId })
      .andWhere('admission_claims IS DISTINCT FROM :json::jsonb', { json: stored && JSON.stringify(stored) })
      .execute();
  }
}

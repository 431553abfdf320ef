import { Injectable } from '@nestjs/common';
import { plainArray } from '../database/statements/plain-array.js';
import { Sql } from '../database/statements/sql.js';
import type { Claims } from './claims.js';
import type { User } from './user.entity.js';

/** User as GET /me returns it; `claims` are the effective ones. */
export type Profile = Pick<User, 'userId' | 'username' | 'email' | 'avatarUrl' | 'createdAt'> & {
  readonly claims: Claims;
};

const FIND = {
  name: 'profiles',
  text: `
    SELECT user_id AS "userId", username, email, avatar_url AS "avatarUrl", created_at AS "createdAt",
      coalesce(claims, '{}') AS claims
    FROM users WHERE user_id = ANY ($1::uuid[])`,
};

@Injectable()
export class ProfileStore {
  /** Finds a user; concurrent calls are batched. */
  readonly find: (userId: string) => Promise<Profile | undefined>;

  constructor(private readonly sql: Sql) {
    this.find = sql.together('profile', (userIds: string[]) => this.findEach(userIds));
  }

  private async findEach(userIds: string[]): Promise<(Profile | undefined)[]> {
    const profiles = await this.sql.query<Profile>(FIND, [plainArray(userIds)]);
    const byUser = new Map(profiles.map((profile) => [profile.userId, profile]));
    return userIds.map((userId) => byUser.get(userId));
  }
}

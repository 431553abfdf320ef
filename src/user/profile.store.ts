import { Injectable } from '@nestjs/common';
import { plainArray } from '../database/statements/plain-array.js';
import { Sql } from '../database/statements/sql.js';
import type { User } from './user.entity.js';

/** User as GET /me returns it. */
export type Profile = Pick<User, 'userId' | 'username' | 'email' | 'avatarUrl' | 'createdAt'>;

const FIND = {
  name: 'profiles',
  text: `
    SELECT user_id AS "userId", username, email, avatar_url AS "avatarUrl", created_at AS "createdAt"
    FROM users WHERE user_id = ANY ($1::uuid[])`,
};

@Injectable()
export class ProfileStore {
  private readonly findBatched: (userId: string) => Promise<Profile | undefined>;

  constructor(private readonly sql: Sql) {
    this.findBatched = sql.together('profile', (userIds: string[]) => this.findEach(userIds));
  }

  /** @returns undefined if there is no such user */
  find(userId: string): Promise<Profile | undefined> {
    return this.findBatched(userId);
  }

  private async findEach(userIds: string[]): Promise<(Profile | undefined)[]> {
    const profiles = await this.sql.query<Profile>(FIND, [plainArray(userIds)]);
    const byUser = new Map(profiles.map((profile) => [profile.userId, profile]));
    return userIds.map((userId) => byUser.get(userId));
  }
}

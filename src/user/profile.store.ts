import { Injectable } from '@nestjs/common';
import { plainArray } from '../database/statements/plain-array.js';
import { Sql } from '../database/statements/sql.js';
import type { User } from './user.entity.js';

/** What a user is told about themselves. */
export type Profile = Pick<User, 'userId' | 'username' | 'email' | 'avatarUrl' | 'createdAt'>;

const PROFILES = `
    SELECT user_id AS "userId", username, email, avatar_url AS "avatarUrl", created_at AS "createdAt" FROM users`;
const FIND_ONE = { name: 'profile', text: `${PROFILES} WHERE user_id = $1` };
const FIND_MANY = { name: 'profiles', text: `${PROFILES} WHERE user_id = ANY ($1::uuid[])` };

@Injectable()
export class ProfileStore {
  /**
   * Those that are asked for together share a statement.
   * @param userId as a verified access token has it
   * @returns undefined where there is no such user
   */
  readonly find: (userId: string) => Promise<Profile | undefined>;

  constructor(private readonly sql: Sql) {
    this.find = sql.together('profile', (userIds: string[]) => this.findEach(userIds));
  }

  private async findOne(userId: string): Promise<Profile | undefined> {
    const [profile] = await this.sql.query<Profile>(FIND_ONE, [userId]);
    return profile;
  }

  private async findEach(userIds: string[]): Promise<(Profile | undefined)[]> {
    if (userIds.length === 1) return [await this.findOne(userIds[0]!)];
    const profiles = await this.sql.query<Profile>(FIND_MANY, [plainArray(userIds)]);
    const byUser = new Map(profiles.map((profile) => [profile.userId, profile]));
    return userIds.map((userId) => byUser.get(userId));
  }
}

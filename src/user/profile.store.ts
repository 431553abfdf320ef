import { Injectable } from '@nestjs/common';
import { plainArray } from '../database/batching.js';
import { Sql } from '../database/sql.js';
import type { Me } from './me.dto.js';

const FIND = {
  name: 'profiles',
  text: `
    SELECT user_id, username, email, avatar_url, created_at, coalesce(claims, '{}') AS claims
    FROM users WHERE user_id = ANY ($1::uuid[]) AND removed_at IS NULL`,
};

@Injectable()
export class ProfileStore {
  /** Finds a user; concurrent calls are batched. */
  readonly find: (userId: string) => Promise<Me | undefined>;

  constructor(sql: Sql) {
    this.find = sql.batched('profile', async (userIds: string[]) => {
      const profiles = await sql.query<Me>(FIND, [plainArray(userIds)]);
      const byUser = new Map(profiles.map((profile) => [profile.user_id, profile]));
      return userIds.map((userId) => byUser.get(userId));
    });
  }
}

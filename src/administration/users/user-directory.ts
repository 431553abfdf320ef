import { Injectable } from '@nestjs/common';
import { isOnline } from '../../channel/presence.sql.js';
import { Sql } from '../../database/sql.js';
import { UUID } from '../../http/parameters/uuid.js';
import { countLiving } from '../../token/sessions/session.sql.js';
import type { UserFilter } from '../../user/search.sql.js';
import { UserSearch, type UserPage } from '../../user/user-search.js';
import { describeUsers } from '../../user/user.sql.js';
import { noSuchUser, type UserList, type UserView } from './users.dto.js';

/** Most live sessions that are counted for each user of a list: a user with many sessions must not delay the page. */
const MOST_COUNTED = 1000;

// It uses tables of several modules; each module offers the SQL of its tables.
const liveState =
  (most?: number) =>
  (userId: string): string =>
    `${countLiving(userId, most)} AS live_sessions, ${isOnline(userId)} AS online`;
const USER = { name: 'user-known', text: describeUsers('user_id = $1', liveState()) };
// In the order of the search.
const USERS = {
  name: 'users-known',
  text: `${describeUsers('user_id = ANY ($1::uuid[])', liveState(MOST_COUNTED))} ORDER BY created_at DESC, user_id DESC`,
};
// One node of a Citus cluster has all of one user.
const USER_OF_LIST = { name: 'user-of-list', text: describeUsers('user_id = $1', liveState(MOST_COUNTED)) };

/** Users as the support sees them. */
@Injectable()
export class UserDirectory {
  constructor(
    private readonly users: UserSearch,
    private readonly sql: Sql,
  ) {}

  /** @param filter its prefix may be a whole `user_id` */
  async search(filter: UserFilter, limit: number, cursor?: string): Promise<UserList> {
    const { userIds, next } = await this.page(filter, limit, cursor);
    const users = await this.findEach(userIds); // one may have been removed since
    return { users, ...(next !== undefined && { next_cursor: next }) };
  }

  /** @throws OAuthError `not_found` */
  async find(userId: string): Promise<UserView> {
    const [user] = await this.sql.query<UserView>(USER, [userId]);
    if (!user) throw noSuchUser();
    return user;
  }

  private async page(filter: UserFilter, limit: number, cursor?: string): Promise<UserPage> {
    const { prefix } = filter;
    if (prefix !== undefined && UUID.test(prefix)) {
      const one = await this.users.find({ ...filter, prefix: undefined, userId: prefix }, limit, cursor);
      if (one.userIds.length > 0) return one;
    }
    return this.users.find(filter, limit, cursor);
  }

  private async findEach(userIds: readonly string[]): Promise<UserView[]> {
    if (!this.sql.distributed) return this.sql.query<UserView>(USERS, [userIds]);
    const each = userIds.map((userId) => this.sql.query<UserView>(USER_OF_LIST, [userId]));
    return (await Promise.all(each)).flat();
  }
}

import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { isOnline } from '../../channel/presence.sql.js';
import { Sql } from '../../database/statements/sql.js';
import { findDevices } from '../../device/device.store.js';
import { UUID } from '../../http/parameters/uuid.js';
import { countLiving } from '../../token/sessions/session.sql.js';
import { findSessions } from '../../token/sessions/session-list.js';
import { UserSearch, type UserFilter, type UserPage } from '../../user/user-search.js';
import { describeUsers, type DescribedUser } from '../../user/user.sql.js';

/** A user with their live state. */
export type KnownUser = DescribedUser & {
  /** An open socket on some instance. */
  readonly online: boolean;
  readonly liveSessions: number;
};

/** Most live sessions that are counted for each user of a list: a user with many sessions must not delay the page. */
const MOST_COUNTED = 1000;

// It uses tables of several modules; each module offers the SQL of its tables.
const liveState =
  (most?: number) =>
  (userId: string): string =>
    `${countLiving(userId, most)} AS "liveSessions", ${isOnline(userId)} AS online`;
const USER = { name: 'user-known', text: describeUsers('user_id = $1', liveState()) };
const USERS = {
  name: 'users-known',
  text: describeUsers('user_id = ANY ($1::uuid[])', liveState(MOST_COUNTED)),
};
// One node of a Citus cluster has all of one user.
const USER_OF_LIST = { name: 'user-of-list', text: describeUsers('user_id = $1', liveState(MOST_COUNTED)) };

/** Users as the support sees them (contract §9). */
@Injectable()
export class UserDirectory {
  constructor(
    private readonly users: UserSearch,
    private readonly dataSource: DataSource,
    private readonly sql: Sql,
  ) {}

  /** @param filter its prefix may be a whole `user_id` */
  async search(
    filter: UserFilter,
    limit: number,
    cursor?: string,
  ): Promise<{ users: KnownUser[]; next: string | undefined }> {
    const { userIds, next } = await this.page(filter, limit, cursor);
    const found = await this.findEach(userIds);
    const byId = new Map(found.map((user) => [user.userId, user]));
    return { users: userIds.flatMap((id) => byId.get(id) ?? []), next }; // one may have been removed since
  }

  async find(userId: string): Promise<KnownUser | undefined> {
    return (await this.sql.query<KnownUser>(USER, [userId]))[0];
  }

  /** Devices of a user, a page, newest use first. @param cursor `next` of the page before */
  devices(userId: string, cursor?: string): ReturnType<typeof findDevices> {
    return findDevices(this.dataSource.manager, userId, cursor);
  }

  /** Live sessions of a user, a page, newest use first. @param cursor `next` of the page before */
  sessions(userId: string, cursor?: string): ReturnType<typeof findSessions> {
    return findSessions(this.dataSource.manager, userId, cursor);
  }

  private async page(filter: UserFilter, limit: number, cursor?: string): Promise<UserPage> {
    const { prefix } = filter;
    if (prefix !== undefined && UUID.test(prefix)) {
      const one = await this.users.find({ ...filter, prefix: undefined, userId: prefix }, limit, cursor);
      if (one.userIds.length > 0) return one;
    }
    return this.users.find(filter, limit, cursor);
  }

  private async findEach(userIds: readonly string[]): Promise<KnownUser[]> {
    if (!this.sql.distributed) return this.sql.query<KnownUser>(USERS, [userIds]);
    return (
      await Promise.all(userIds.map((userId) => this.sql.query<KnownUser>(USER_OF_LIST, [userId])))
    ).flat();
  }
}

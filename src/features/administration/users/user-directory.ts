import { Injectable } from '@nestjs/common';
import { PresenceStore } from '../../../channel/presence.store.js';
import { DeviceService } from '../../../device/device.service.js';
import type { DeviceList } from '../../../device/devices.dto.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { deriveUserId } from '../../../identity/user-id.js';
import { UUID } from '../../../platform/http/parameters/uuid.js';
import { SessionService } from '../../../token/sessions/session.service.js';
import { SessionStore } from '../../../token/sessions/session.store.js';
import type { SessionList } from '../../../token/sessions/sessions.dto.js';
import { toMe } from '../../../user/me.dto.js';
import { UserSearch, type UserFilter, type UserPage } from '../../../user/search/user-search.js';
import { UserLifecycles } from '../../../user/user-lifecycle.js';
import { UserStore } from '../../../user/user.store.js';
import { noSuchUser, type UserDetail, type UserList, type UserView } from './users.dto.js';

/** Live sessions that are counted for each user of a list at most: many must not delay the page. */
const MOST_COUNTED = 1000;

/** Users as the support sees them. */
@Injectable()
export class UserDirectory {
  constructor(
    private readonly users: UserStore,
    private readonly userSearch: UserSearch,
    private readonly devices: DeviceService,
    private readonly sessions: SessionStore,
    private readonly sessionLists: SessionService,
    private readonly presence: PresenceStore,
    private readonly lifecycles: UserLifecycles,
  ) {}

  /** @param filter its prefix may be a whole `user_id` */
  async search(filter: UserFilter, limit: number, cursor?: string): Promise<UserList> {
    const { userId } = filter;
    // The user of an identity, which may be joined to theirs.
    const found = userId !== undefined && {
      userId: (await this.users.mergedInto(userId)) ?? userId,
      provider: undefined,
    };
    const { users, next } = await this.findPage({ ...filter, ...found }, limit, cursor);
    const views = await this.describe(users, MOST_COUNTED);
    return { users: views, ...(next !== undefined && { next_cursor: next }) };
  }

  /** @throws OAuthError `not_found` */
  async find(userId: string): Promise<UserView> {
    const user = await this.users.find(userId);
    if (!user) throw noSuchUser(await this.users.mergedInto(userId));
    const [view] = await this.describe([user]);
    return view!;
  }

  /** @throws OAuthError `not_found` */
  async findDetail(userId: string): Promise<UserDetail> {
    const user = await this.find(userId);
    const parts = [this.devices.list(userId), this.sessionLists.list(user)] as const;
    const [{ devices }, { sessions }] = await Promise.all(parts);
    return Object.assign(user, { devices, sessions });
  }

  /** @throws OAuthError `not_found` */
  async findDevices(userId: string, cursor?: string): Promise<DeviceList> {
    await this.find(userId);
    return this.devices.list(userId, cursor);
  }

  /** @throws OAuthError `not_found` */
  async findSessions(userId: string, cursor?: string): Promise<SessionList> {
    return this.sessionLists.list(await this.find(userId), cursor);
  }

  /** Returns the user of an identity, who may have joined it to their own. */
  async findId(provider: string, providerUserId: string): Promise<string> {
    const userId = deriveUserId(provider, providerUserId);
    return (await this.users.mergedInto(userId)) ?? userId;
  }

  /** @throws OAuthError `invalid_request` unless one user has this e-mail address */
  async findIdByEmail(email: string): Promise<string> {
    const { users } = await this.userSearch.find({ email }, 2);
    if (users.length === 1) return users[0]!.userId;
    const count = users.length === 0 ? 'no user has' : 'several users have';
    throw new OAuthError('invalid_request', `${count} this e-mail address`);
  }

  private async findPage(filter: UserFilter, limit: number, cursor?: string): Promise<UserPage> {
    const { prefix } = filter;
    if (prefix !== undefined && cursor === undefined && UUID.test(prefix)) {
      const one = await this.userSearch.find({ ...filter, prefix: undefined, userId: prefix }, limit);
      if (one.users.length > 0) return one;
    }
    return this.userSearch.find(filter, limit, cursor);
  }

  /** @param mostSessions bound of the count of each user's live sessions */
  private async describe(users: UserPage['users'], mostSessions?: number): Promise<UserView[]> {
    const userIds = users.map(({ userId }) => userId);
    const [states, sessions, devices] = await Promise.all([
      this.lifecycles.describe(users),
      this.sessions.countLive(userIds, mostSessions),
      Promise.all(userIds.map((userId) => this.presence.onlineDevices(userId))),
    ]);
    return users.map((one, i) =>
      Object.assign(toMe(one), {
        provider: one.provider,
        provider_user_id: one.providerUserId,
        suspended_at: one.suspendedAt,
        directory: states.get(one.userId)?.directory ?? null,
        last_seen_at: one.lastSeenAt,
        online: devices[i]!.size > 0,
        live_sessions: sessions.get(one.userId) ?? 0,
      }),
    );
  }
}

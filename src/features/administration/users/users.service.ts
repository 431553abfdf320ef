import { Injectable } from '@nestjs/common';
import type { Origin } from '../../../audit/audit-event.js';
import { AuditStore } from '../../../audit/audit.store.js';
import { ChannelHistory } from '../../../channel/channel.history.js';
import { Sql } from '../../../platform/database/sql.js';
import { DeviceStore } from '../../../device/device.store.js';
import { SignOutService } from '../../../device/sign-out.service.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import type { EndCause } from '../../../platform/events.js';
import { validClaims } from '../../../provider/identity/select-claims.js';
import type { Claims, UserClaims } from '../../../identity/claims.js';
import { SessionStore } from '../../../token/sessions/session.store.js';
import { ClaimsStore } from '../../../user/claims.store.js';
import { lockUser } from '../../../user/lock-user.js';
import { UserStore } from '../../../user/user.store.js';
import { noSuchUser, type RemovedUserList } from './users.dto.js';
import { UserRemoval } from '../../../auth/sign-out/user-removal.js';

/** What of a user is meant; nothing: everything. `cause`: absent if a person signs the user out. */
interface Part {
  readonly deviceId?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly cause?: EndCause | undefined;
}

/** Sign-out, claims and removal of users, by an application's backend. */
@Injectable()
export class UsersService {
  constructor(
    private readonly signOuts: SignOutService,
    private readonly devices: DeviceStore,
    private readonly history: ChannelHistory,
    private readonly removals: UserRemoval,
    private readonly userClaims: ClaimsStore,
    private readonly userStore: UserStore,
    private readonly sessions: SessionStore,
    private readonly audit: AuditStore,
    private readonly sql: Sql,
  ) {}

  /**
   * Ends all sessions of a user, all of a device, or one. The user may sign in again unless suspended.
   * @returns number of sessions that have ended
   * @throws OAuthError `not_found`
   */
  async signOut(userId: string, origin: Origin, { deviceId, sessionId, cause }: Part = {}): Promise<number> {
    if (sessionId !== undefined) return this.endSession(userId, sessionId, origin);
    const isThere = await this.exists(userId, deviceId);
    if (!isThere && deviceId !== undefined) return this.notFound();
    const target = { userId, sessionId: null, deviceId: deviceId ?? null };
    const scope = deviceId === undefined ? 'all' : 'device';
    const count = await this.signOuts.signOut(scope, target, origin, { cause }); // also a first sign-in
    return isThere ? count : this.notFound();
  }

  /** @param cursor `next_cursor` of the page before */
  findRemoved(cursor?: string): Promise<RemovedUserList> {
    return this.userStore.findRemoved(cursor);
  }

  /**
   * Suspends or restores a user. Suspending ends all sessions, after the commit: no other one can begin then.
   * A user who was suspended and then removed is restored, too: a later sign-in makes a new user.
   * @returns false for a removed user
   * @throws OAuthError `not_found`
   */
  async suspend(userId: string, suspended: boolean, origin: Origin): Promise<boolean> {
    const found = await this.history.transactionOf(userId, async ({ manager }) => {
      const provider = await lockUser(manager, userId);
      const isRemoved = provider === undefined;
      if (isRemoved && (suspended || !(await this.userStore.allowSignIns(manager, userId)))) return 'nobody';
      const event = suspended ? 'user_suspended' : 'user_restored';
      if (isRemoved || (await this.userStore.setSuspended(manager, userId, suspended))) {
        await this.audit.write(manager, [{ event, userId, provider, origin }]);
      }
      return isRemoved ? 'removed' : 'user';
    });
    if (found === 'nobody') return this.notFound();
    if (suspended) await this.signOut(userId, origin, { cause: 'suspended' });
    return found === 'user';
  }

  /** @throws OAuthError `not_found` */
  async claims(userId: string): Promise<UserClaims> {
    return (await this.userClaims.find(userId)) ?? this.notFound();
  }

  /**
   * Replaces the claims of the application.
   * @throws OAuthError `invalid_request` for unusable claims, or beyond the limits of both; `not_found`
   */
  async setClaims(userId: string, claims: Claims, origin: Origin): Promise<UserClaims> {
    const { accepted, dropped } = validClaims(claims);
    if (dropped[0]) throw new OAuthError('invalid_request', `a claim ${dropped[0].why}`);
    return (await this.userClaims.replace(userId, 'application', accepted, origin)) ?? this.notFound();
  }

  /** @throws OAuthError `not_found` */
  async remove(userId: string, origin: Origin): Promise<void> {
    await this.signOut(userId, origin, { cause: 'removed' });
    if (!(await this.removals.remove(userId, origin))) return this.notFound();
  }

  private async exists(userId: string, deviceId?: string): Promise<boolean> {
    if (!(await this.userStore.find(userId))) return false;
    return deviceId === undefined || this.devices.exists({ userId, deviceId });
  }

  private async endSession(userId: string, sessionId: string, origin: Origin): Promise<number> {
    const session = await this.sessions.find({ userId, sessionId });
    if (!session) return this.notFound();
    return this.signOuts.signOut('session', { userId, sessionId, deviceId: session.deviceId }, origin);
  }

  /** Confirmed first: a concurrent removal may not be on the standby yet (CONFIRM_READ). */
  private async notFound(): Promise<never> {
    await this.sql.confirmRead();
    throw noSuchUser();
  }
}

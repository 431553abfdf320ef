import { Injectable } from '@nestjs/common';
import type { Origin } from '../../audit/audit-event.js';
import { ChannelHistory } from '../../channel/channel.history.js';
import { ChannelRemoval } from '../../channel/channel.removal.js';
import { CONFIRM_READ } from '../../database/statements/confirm-read.js';
import { Sql } from '../../database/statements/sql.js';
import { removeDevices } from '../../device/device.store.js';
import { SignOutService } from '../../device/sign-out.service.js';
import { OAuthError } from '../../errors/oauth-error.js';
import { Events } from '../../events.js';
import { keepClaims } from '../../provider/identity/kept-claims.js';
import { endSessions, SLICE } from '../../token/sessions/session.store.js';
import type { Claims, UserClaims } from '../../user/claims.js';
import { ClaimsStore } from '../../user/claims.store.js';
import { lockUser, removeUser } from '../../user/user.store.js';
import { AuthorizationCodes } from '../clients/authorization-codes.js';
import { hasDevice } from '../../device/device.sql.js';
import { selectUser } from '../../user/user.sql.js';

// It uses tables of several modules; each module offers the SQL of its tables (`*.sql.ts`).
const TARGET = {
  name: 'user-or-device',
  text: selectUser('$1', `($2::uuid IS NULL OR ${hasDevice('$1', '$2')})`),
};

/** Sign-out, claims and removal of users, by an application's backend (contract §4, §9). */
@Injectable()
export class UsersService {
  constructor(
    private readonly signOuts: SignOutService,
    private readonly history: ChannelHistory,
    private readonly channels: ChannelRemoval,
    private readonly codes: AuthorizationCodes,
    private readonly userClaims: ClaimsStore,
    private readonly sql: Sql,
    private readonly events: Events,
  ) {}

  /**
   * Ends all sessions of a user, or of one of their devices. The user may sign in again unless suspended at the provider.
   * @throws OAuthError `not_found`
   */
  async signOut(userId: string, deviceId: string | null = null): Promise<void> {
    if (deviceId === null) await this.codes.forget(userId);
    const { length } = await this.sql.query(TARGET, [userId, deviceId]);
    if (length === 0) return this.notFound();
    const scope = deviceId === null ? 'all' : 'device';
    await this.signOuts.signOut(scope, { userId, sessionId: null, deviceId }, { by: 'service_key' });
  }

  /** @throws OAuthError `not_found` */
  async claims(userId: string): Promise<UserClaims> {
    return (await this.userClaims.find(userId)) ?? this.notFound();
  }

  /**
   * Replaces the claims of the application.
   * @throws OAuthError `invalid_request` beyond the limits of contract §5, `not_found`
   */
  async setClaims(userId: string, claims: Claims, origin: Origin): Promise<UserClaims> {
    const { kept, dropped } = keepClaims(claims);
    if (dropped[0]) throw new OAuthError('invalid_request', `a claim ${dropped[0].why}`);
    return (await this.userClaims.replace(userId, 'application', kept, origin)) ?? this.notFound();
  }

  /**
   * Signs a user out, and removes the user with devices and channel. The ended sessions, which hold ids only, stay for the
   * revocation feed. A failed removal may be repeated: the user is removed last.
   * @throws OAuthError `not_found`
   */
  async remove(userId: string): Promise<void> {
    await this.signOut(userId);
    await this.channels.begin(userId);
    // Locks are taken in the order of a sign-in: user, devices, sessions, channel.
    const isRemoved = await this.history.transaction(async ({ manager }) => {
      if (!(await lockUser(manager, userId))) return false;
      await removeDevices(manager, userId);
      const everySession = { userId, sessionId: null, deviceId: null };
      while ((await endSessions(manager, 'all', everySession)).length === SLICE); // begun since the sign-out
      await this.channels.remove(manager, userId);
      await removeUser(manager, userId);
      return true;
    });
    if (!isRemoved) return this.notFound();
    this.events.emit('user.removed', { userId });
  }

  /** Confirmed first: a concurrent removal may not be on the standby yet (CONFIRM_READ). */
  private async notFound(): Promise<never> {
    await this.sql.query(CONFIRM_READ, []);
    throw new OAuthError('not_found', 'there is no such user or device');
  }
}

import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Origin } from '../../audit/audit-event.js';
import { AuditStore } from '../../audit/audit.store.js';
import { ChannelHistory } from '../../channel/channel.history.js';
import { removeChannel, removeMostEvents } from '../../channel/channel.removal.js';
import { PresenceStore } from '../../channel/presence.store.js';
import { Sql } from '../../database/sql.js';
import { removeDevices } from '../../device/device.store.js';
import { signOutEvents, SignOutService } from '../../device/sign-out.service.js';
import { OAuthError } from '../../errors/oauth-error.js';
import { validClaims } from '../../provider/identity/select-claims.js';
import { LONGEST_TOKEN_TTL } from '../../token/keys/key-life.js';
import { DEVICE_OF_SESSION, endSessions, SLICE } from '../../token/sessions/session.store.js';
import type { Claims, UserClaims } from '../../user/claims.js';
import { ClaimsStore } from '../../user/claims.store.js';
import { holdForAudit, letInAgain, removeUser, setSuspended } from '../../user/user.store.js';
import { UserDirectory } from './user-directory.js';
import { noSuchUser } from './users.dto.js';
import { AuthorizationCodes } from '../../auth/clients/authorization-codes.js';
import { hasDevice } from '../../device/device.sql.js';
import { selectUser } from '../../user/user.sql.js';

// It uses tables of several modules; each module offers the SQL of its tables (`*.sql.ts`).
const TARGET = {
  name: 'user-and-device',
  text: selectUser('$1', `($2::uuid IS NULL OR ${hasDevice('$1', '$2')})`),
};

/** An hour more than any token, since clocks differ. */
const TOKENS_END = `SELECT now() + make_interval(secs => ${LONGEST_TOKEN_TTL} + 3600) AS until`;

/** Users with similar e-mail addresses that a sign-out reads. */
const MOST_LIKE = 200;

/** What of a user is meant; nothing: everything. */
interface Part {
  readonly deviceId?: string | undefined;
  readonly sessionId?: string | undefined;
}

/** Sign-out, claims and removal of users, by an application's backend. */
@Injectable()
export class UsersService {
  constructor(
    private readonly signOuts: SignOutService,
    private readonly history: ChannelHistory,
    private readonly presence: PresenceStore,
    private readonly codes: AuthorizationCodes,
    private readonly userClaims: ClaimsStore,
    private readonly directory: UserDirectory,
    private readonly audit: AuditStore,
    private readonly sql: Sql,
    private readonly dataSource: DataSource,
  ) {}

  /**
   * Ends all sessions of a user, all of a device, or one. The user may sign in again unless suspended.
   * @returns number of sessions that have ended
   * @throws OAuthError `not_found`
   */
  async signOut(userId: string, origin: Origin, { deviceId, sessionId }: Part = {}): Promise<number> {
    if (sessionId !== undefined) return this.endSession(userId, sessionId, origin);
    if (deviceId === undefined) await this.codes.forget(userId);
    const { length } = await this.sql.query(TARGET, [userId, deviceId]);
    if (length === 0) return this.notFound();
    const target = { userId, sessionId: null, deviceId: deviceId ?? null };
    return this.signOuts.signOut(deviceId === undefined ? 'all' : 'device', target, origin);
  }

  /** @throws OAuthError `invalid_request` unless one user has this e-mail address, in any case */
  async findByEmail(email: string): Promise<string> {
    const { users, next_cursor: next } = await this.directory.search({ email }, MOST_LIKE);
    // The search finds similar addresses, too. Both cases: the sign of kelvin is no k, though it has the same lower case.
    const cases = (text: string): string => `${text.toLowerCase()} ${text.toUpperCase()}`;
    const [user, ...others] = users.filter((one) => cases(one.email ?? '') === cases(email));
    if (user && others.length === 0 && next === undefined) return user.user_id;
    const count = user || next !== undefined ? 'several users have' : 'no user has';
    throw new OAuthError('invalid_request', `${count} this e-mail address`);
  }

  /**
   * Suspends or restores a user. Suspending ends all sessions, after the commit: no other one can begin then. A user who was suspended and
   * then removed is restored, too: a later sign-in makes a new user.
   * @returns false for a removed user
   * @throws OAuthError `not_found`
   */
  async suspend(userId: string, suspended: boolean, origin: Origin): Promise<boolean> {
    const found = await this.history.transactionOf(userId, async ({ manager }) => {
      const provider = await holdForAudit(manager, userId);
      const isRemoved = provider === undefined;
      if (isRemoved && (suspended || !(await letInAgain(manager, userId)))) return 'nobody';
      const event = suspended ? 'user_suspended' : 'user_restored';
      if (isRemoved || (await setSuspended(manager, userId, suspended))) {
        await this.audit.write(manager, [{ event, userId, provider, origin }]);
      }
      return isRemoved ? 'removed' : 'user';
    });
    if (found === 'nobody') return this.notFound();
    if (suspended) await this.signOut(userId, origin);
    return found === 'user';
  }

  /** @throws OAuthError `not_found` */
  async claims(userId: string): Promise<UserClaims> {
    return (await this.userClaims.find(userId)) ?? this.notFound();
  }

  /**
   * Replaces the claims of the application.
   * @throws OAuthError `invalid_request` for an unusable claim and beyond the limits of both sources together, `not_found`
   */
  async setClaims(userId: string, claims: Claims, origin: Origin): Promise<UserClaims> {
    const { accepted: kept, dropped } = validClaims(claims);
    if (dropped[0]) throw new OAuthError('invalid_request', `a claim ${dropped[0].why}`);
    return (await this.userClaims.replace(userId, 'application', kept, origin)) ?? this.notFound();
  }

  /**
   * Signs a user out, and removes the user with devices and channel. The ended sessions, which hold ids only, stay for the
   * revocation feed, and so does the audit trail, with ids only. Of a suspended user, the id stays, and sign-ins are refused. A failed removal may be repeated: the user is removed last.
   * @throws OAuthError `not_found`
   */
  async remove(userId: string, origin: Origin): Promise<void> {
    await this.signOut(userId, origin);
    const forgotten = await this.audit.forget(this.dataSource.manager, userId);
    await removeMostEvents(this.dataSource, userId);
    await this.presence.forget(userId);
    // Locks are taken in the order of a sign-in: user, devices, sessions, channel.
    const isRemoved = await this.history.transactionOf(userId, async ({ manager }) => {
      const provider = await holdForAudit(manager, userId, 'UPDATE');
      if (provider === undefined) return false;
      await removeDevices(manager, userId);
      const everySession = { userId, sessionId: null, deviceId: null };
      for (let count = SLICE; count === SLICE;) {
        const ended = await endSessions(manager, 'all', everySession); // begun since the sign-out
        await this.audit.write(manager, signOutEvents({ userId, provider, origin }, ended));
        count = ended.length;
      }
      await removeChannel(manager, userId);
      const [tokens] = await manager.query<{ until: Date }[]>(TOKENS_END);
      await removeUser(manager, userId, tokens!.until);
      await this.audit.forget(manager, userId, forgotten);
      const isSelf = origin.actor.type === 'user' && origin.actor.name === userId;
      const by = isSelf ? { ...origin, address: null, userAgent: null } : origin;
      await this.audit.write(manager, [{ event: 'user_removed', userId, provider, origin: by }]);
      return true;
    });
    if (!isRemoved) return this.notFound();
  }

  private async endSession(userId: string, sessionId: string, origin: Origin): Promise<number> {
    const values = [userId, sessionId];
    const [session] = await this.sql.query<{ deviceId: string | null }>(DEVICE_OF_SESSION, values);
    if (!session) return this.notFound();
    return this.signOuts.signOut('session', { userId, sessionId, ...session }, origin);
  }

  /** Confirmed first: a concurrent removal may not be on the standby yet (CONFIRM_READ). */
  private async notFound(): Promise<never> {
    await this.sql.confirmRead();
    throw noSuchUser();
  }
}

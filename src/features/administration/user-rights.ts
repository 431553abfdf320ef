import { Inject, Injectable } from '@nestjs/common';
import { UserLifecycle } from '../../extensions.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { listClaim } from '../../identity/claims.js';
import { SessionStore } from '../../token/sessions/session.store.js';
import { UserStore } from '../../user/user.store.js';

/**
 * Rights that roles grant (docs/administration.md#turn-it-on). Any kept provider can send any role, so only
 * roles of trusted ones count, and those set by the API.
 */
@Injectable()
@UserLifecycle()
export class UserRights implements UserLifecycle {
  constructor(
    private readonly users: UserStore,
    private readonly sessions: SessionStore,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** @returns the right that a user's roles grant now; null: none, as in a session of a joined identity */
  async right(userId: string, sessionId?: string): Promise<'users' | 'support' | null> {
    const { adminEnabled, adminRole, supportRole, adminProviders, production } = this.settings;
    if (!adminEnabled) return null;
    const user = await this.users.find(userId);
    if (!user) return null;
    const isTrusted = adminProviders ? adminProviders.includes(user.provider) : !production;
    const sources = [user.applicationClaims, isTrusted ? user.providerClaims : null];
    const roles = sources.flatMap((claims) => listClaim(claims ?? {}, 'roles'));
    const right = roles.includes(adminRole) ? 'users' : roles.includes(supportRole) ? 'support' : null;
    if (right === null || sessionId === undefined) return right;
    return (await this.sessions.find({ userId, sessionId }))?.joinedIdentityId === null ? right : null;
  }
}

import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Origin } from '../../../audit/audit-event.js';
import { AuditStore } from '../../../audit/audit.store.js';
import { DatabaseBusy } from '../../../platform/database/limits.js';
import { Sql } from '../../../platform/database/sql.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { deriveUserId } from '../../../identity/user-id.js';
import { ProviderRegistry } from '../../../provider/provider.registry.js';
import { validClaims } from '../../../provider/identity/select-claims.js';
import { claimDifference } from '../../../user/claim-difference.js';
import { ClaimsStore } from '../../../user/claims.store.js';
import { UserStore, type NewUser } from '../../../user/user.store.js';
import type { NewUserDto } from './users.dto.js';

/** Attempts to create a user whom others create and remove concurrently. */
const TRIES = 3;

/** Creates users before their first sign-in (docs/endpoints.md#users-before-their-first-sign-in). */
@Injectable()
export class UserCreation {
  constructor(
    private readonly providers: ProviderRegistry,
    private readonly users: UserStore,
    private readonly claims: ClaimsStore,
    private readonly audit: AuditStore,
    private readonly sql: Sql,
    private readonly dataSource: DataSource,
  ) {}

  /**
   * @returns the id, and whether the user is new; a user who exists stays unchanged
   * @throws OAuthError `invalid_request` for an unknown provider, an unusable claim and beyond the limits of
   *   claims; `access_denied` for a removed user who is kept out
   */
  async create(
    { provider, provider_user_id, username, email, claims }: NewUserDto,
    origin: Origin,
  ): Promise<{ readonly userId: string; readonly isNew: boolean }> {
    this.providers.get(provider);
    const { accepted, dropped } = validClaims(claims);
    if (dropped[0]) throw new OAuthError('invalid_request', `a claim ${dropped[0].why}`);
    const userId = deriveUserId(provider, provider_user_id);
    const profile = { username: username ?? null, email: email ?? null };
    const user = { userId, provider, providerUserId: provider_user_id, ...profile };
    for (let left = TRIES; left > 0; left--) {
      if (await this.insert({ ...user, claims: this.claims.ofNewUser(accepted) }, origin)) {
        return { userId, isNew: true };
      }
      const owner = await this.users.mergedInto(userId);
      if (owner !== undefined) return { userId: owner, isNew: false };
      const state = await this.users.stateOf(userId);
      if (state === 'kept out')
        throw new OAuthError('access_denied', 'this user was removed, and may not sign in');
      if (state === 'user') {
        await this.sql.confirmRead(); // another call may have created the user just now
        return { userId, isNew: false };
      }
    }
    throw new DatabaseBusy('the user is created and removed at the same time');
  }

  private insert(user: NewUser, origin: Origin): Promise<boolean> {
    const { userId, provider, claims } = user;
    return this.dataSource.transaction(async (manager) => {
      const isNew = await this.users.insert(manager, user);
      const hasClaims = Object.keys(claims.effective).length > 0;
      if (isNew && hasClaims) {
        const changes = claimDifference('application', {}, claims.effective, this.audit.recordsClaims);
        await this.audit.write(manager, [{ event: 'claims_changed', userId, provider, changes, origin }]);
      }
      return isNew;
    });
  }
}

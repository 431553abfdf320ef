import { Inject, Injectable } from '@nestjs/common';
import { SETTINGS, type Settings } from '../config/settings/settings.js';
import { Sql } from '../database/statements/sql.js';

const ROLES = {
  name: 'user-roles',
  text: `
    SELECT provider, coalesce(provider_claims -> 'roles', '[]') AS given, coalesce(application_claims -> 'roles', '[]') AS set
    FROM users WHERE user_id = $1`,
};

/** Rights that roles grant (contract §9). Any kept provider can send any role, so only roles of trusted ones count, and those set by the API. */
@Injectable()
export class UserRights {
  constructor(
    private readonly sql: Sql,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Right that a user's roles grant now; null: none. */
  async of(userId: string): Promise<'users' | 'support' | null> {
    const { adminEnabled, adminRole, supportRole, adminProviders, production } = this.settings;
    if (!adminEnabled) return null;
    type Row = { provider: string; given: unknown[]; set: unknown[] };
    const [user] = await this.sql.query<Row>(ROLES, [userId]);
    if (!user) return null;
    const isTrusted = adminProviders ? adminProviders.includes(user.provider) : !production;
    const roles = [...user.set, ...(isTrusted ? user.given : [])];
    if (roles.includes(adminRole)) return 'users';
    return roles.includes(supportRole) ? 'support' : null;
  }
}

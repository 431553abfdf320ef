import { Controller, Get, Inject } from '@nestjs/common';
import { SETTINGS, type Settings } from '../config/settings/settings.js';
import { OAuthError } from '../errors/oauth-error.js';
import type { SessionIds } from '../events.js';
import { Caller } from '../token/guard/access.js';
import { ProfileStore } from '../user/profile.store.js';
import { UserRights } from '../user/user-rights.js';

/** Answer of GET /admin/session. */
export class AdminSession {
  /** UUID. */
  user_id!: string;

  username!: string | null;

  /** Null: the administration page is not for this user. */
  right!: 'users' | 'support' | null;

  /** Role that grants the right `users` (ADMIN_ROLE). */
  admin_role!: string;

  /** Role that grants the right `support` (SUPPORT_ROLE). */
  support_role!: string;
}

@Controller('admin/session')
export class AdminSessionController {
  constructor(
    private readonly profiles: ProfileStore,
    private readonly rights: UserRights,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * What the caller may do on the administration page
   *
   * @returns The right that the caller’s roles grant now, and the roles that grant one.
   * @throws OAuthError `not_found`
   */
  @Get()
  async adminSession(@Caller() { userId }: SessionIds): Promise<AdminSession> {
    const [profile, right] = await Promise.all([this.profiles.find(userId), this.rights.of(userId)]);
    if (!profile) throw new OAuthError('not_found', 'there is no such user');
    const { adminRole, supportRole } = this.settings;
    return {
      user_id: userId,
      username: profile.username,
      right,
      admin_role: adminRole,
      support_role: supportRole,
    };
  }
}

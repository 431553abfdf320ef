import { Controller, Get, Inject } from '@nestjs/common';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import type { SessionIds } from '../../platform/events.js';
import { Caller } from '../../platform/http/access.js';
import { UserLifecycles } from '../../user/user-lifecycle.js';
import { UserStore } from '../../user/user.store.js';
import type { AdminSession } from './session.dto.js';

@Controller('admin/session')
export class AdminSessionController {
  constructor(
    private readonly users: UserStore,
    private readonly lifecycles: UserLifecycles,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * What the caller may do on the administration page
   *
   * @returns The right that the caller’s roles grant now, and the roles that grant one.
   * @throws OAuthError `not_found`
   */
  @Get()
  async adminSession(@Caller() { userId, sessionId }: SessionIds): Promise<AdminSession> {
    const [user, right] = await Promise.all([
      this.users.find(userId),
      this.lifecycles.right(userId, sessionId),
    ]);
    if (!user) throw new OAuthError('not_found', 'there is no such user');
    const { adminRole, supportRole } = this.settings;
    return {
      user_id: userId,
      username: user.username,
      provider: user.provider,
      right,
      admin_role: adminRole,
      support_role: supportRole,
    };
  }
}

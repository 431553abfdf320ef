import { Controller, Get } from '@nestjs/common';
import { OAuthError } from '../platform/errors/oauth-error.js';
import type { SessionIds } from '../platform/events.js';
import { Caller } from '../platform/http/access.js';
import { toMe, type Me } from './me.dto.js';
import { UserStore } from './user.store.js';

@Controller('me')
export class MeController {
  constructor(private readonly users: UserStore) {}

  /**
   * Who the caller is
   *
   * As the provider described the user at the last sign-in, with the current claims.
   *
   * @returns The user.
   * @throws OAuthError `not_found`
   */
  @Get()
  async me(@Caller() { userId }: SessionIds): Promise<Me> {
    const user = await this.users.find(userId);
    if (!user) throw new OAuthError('not_found', 'there is no such user');
    return toMe(user);
  }
}

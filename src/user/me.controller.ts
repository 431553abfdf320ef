import { Controller, Get } from '@nestjs/common';
import { OAuthError } from '../errors/oauth-error.js';
import type { SessionIds } from '../events.js';
import { Caller } from '../token/guard/access.js';
import type { Me } from './me.dto.js';
import { ProfileStore } from './profile.store.js';

@Controller('me')
export class MeController {
  constructor(private readonly profiles: ProfileStore) {}

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
    const profile = await this.profiles.find(userId);
    if (!profile) throw new OAuthError('not_found', 'there is no such user');
    return profile;
  }
}

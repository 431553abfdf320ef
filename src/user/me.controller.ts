import { Controller, Get } from '@nestjs/common';
import { OAuthError } from '../errors/oauth-error.js';
import type { Session } from '../events.js';
import { answer } from '../http/answer.js';
import { Caller } from '../token/access.js';
import { Me } from './me.js';
import { ProfileStore } from './profile.store.js';

@Controller('me')
export class MeController {
  constructor(private readonly profiles: ProfileStore) {}

  /** The user of the access token, as the provider last described them. */
  @Get()
  async me(@Caller() { userId }: Session): Promise<Me> {
    const profile = await this.profiles.find(userId);
    if (!profile) throw new OAuthError('not_found', 'there is no such user');
    return answer(Me, profile);
  }
}

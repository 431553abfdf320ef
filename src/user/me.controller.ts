import { Controller, Get } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { OAuthError } from '../errors/oauth-error.js';
import type { Session } from '../events.js';
import { answer } from '../http/answer.js';
import { Caller } from '../token/access.js';
import { Me } from './me.js';
import { User } from './user.entity.js';

@Controller('me')
export class MeController {
  constructor(@InjectRepository(User) private readonly users: Repository<User>) {}

  /** The user of the access token, as the provider last described them. */
  @Get()
  async me(@Caller() { userId }: Session): Promise<Me> {
    const user = await this.users.findOneBy({ userId });
    if (!user) throw new OAuthError('not_found', 'there is no such user');
    return answer(Me, user);
  }
}

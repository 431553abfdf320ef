import { Controller, Get } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { OAuthError } from '../errors/oauth-error.js';
import type { Session } from '../events.js';
import { Caller } from '../token/access.js';
import { User } from './user.entity.js';

export interface Me {
  user_id: string;
  username: string | null;
  email: string | null;
  avatar_url: string | null;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
}

@Controller('me')
export class MeController {
  constructor(@InjectRepository(User) private readonly users: Repository<User>) {}

  /** The user of the access token, as the provider last described them. */
  @Get()
  async me(@Caller() { userId }: Session): Promise<Me> {
    const user = await this.users.findOneBy({ userId });
    if (!user) throw new OAuthError('not_found', 'there is no such user');
    const { username, email, avatarUrl, createdAt } = user;
    return { user_id: userId, username, email, avatar_url: avatarUrl, created_at: createdAt.toISOString() };
  }
}

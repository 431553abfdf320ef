import { Controller, Get } from '@nestjs/common';
import { Expose, Type } from 'class-transformer';
import { OAuthError } from '../errors/oauth-error.js';
import type { Session } from '../events.js';
import { answer } from '../http/answer.js';
import { Caller } from '../token/guard/access.js';
import { ProfileStore } from './profile.store.js';

/** Answer of GET /me (contract §4), made from a Profile. */
export class Me {
  /** UUID. */
  @Expose({ name: 'userId' })
  user_id!: string;

  /** Null if the provider sent none. */
  @Expose()
  username!: string | null;

  /** Null if the provider sent none. */
  @Expose()
  email!: string | null;

  /** Null if the provider sent none. */
  @Expose({ name: 'avatarUrl' })
  avatar_url!: string | null;

  /** The first sign-in; in JSON RFC 3339, UTC, with milliseconds. */
  @Expose({ name: 'createdAt' })
  @Type(() => Date)
  created_at!: Date;

  /** Claims of the user now, by name (contract §5); not exposed, since class-transformer changes nested data. */
  claims!: Record<string, unknown>;
}

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
  async me(@Caller() { userId }: Session): Promise<Me> {
    const profile = await this.profiles.find(userId);
    if (!profile) throw new OAuthError('not_found', 'there is no such user');
    return Object.assign(answer(Me, profile), { claims: profile.claims });
  }
}

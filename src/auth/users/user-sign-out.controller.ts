import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { type Origin, From } from '../../audit/audit-event.js';
import { OAuthError } from '../../errors/oauth-error.js';
import { OptionalText } from '../../http/parameters/parameter.js';
import { UUID } from '../../http/parameters/uuid.js';
import { Requires } from '../../token/guard/access.js';
import { userIdOf } from '../../user/user-keys.js';
import { userIdPipe } from './user-id.pipe.js';
import { UsersService } from './users.service.js';

const A_UUID = { matches: { pattern: UUID, as: 'a UUID' } };

/** Body of POST /users/:user_id/sign-out; may be left out. */
export class UserSignOutDto {
  /** Only this device of the user. */
  @OptionalText(A_UUID)
  device_id?: string;

  /** Only this session of the user. */
  @OptionalText(A_UUID)
  session_id?: string;
}

/** Body of POST /users/sign-out: the identity at the provider (contract §6), or an e-mail address that one user has. */
export class FoundUserDto {
  /** Name of the provider, which need not be configured any more. */
  @OptionalText({ max: 63, matches: { pattern: /\S/, as: 'the name of a provider' } })
  provider?: string;

  /** Compared byte for byte. */
  @OptionalText({ max: 255, matches: { pattern: /[^]/, as: 'text of at most 255 characters' } })
  provider_user_id?: string;

  /** In any case. */
  @OptionalText({ max: 255, matches: { pattern: /\S/, as: 'an e-mail address' } })
  email?: string;
}

/** What a sign-out did. */
export class UserSignedOut {
  /** Number of sessions that have ended. */
  sessions!: number;
}

/** Sign-out of users by others (contract §9). */
@Requires('support')
@Controller('users')
export class UserSignOutController {
  constructor(private readonly users: UsersService) {}

  /**
   * Sign a user out, everywhere or from one device or session
   *
   * @returns Signed out.
   * @throws OAuthError `not_found`
   */
  @Post(':user_id/sign-out')
  @HttpCode(200)
  async signOutUser(
    @Param('user_id', userIdPipe) userId: string,
    @Body() { device_id: deviceId, session_id: sessionId }: UserSignOutDto,
    @From() origin: Origin,
  ): Promise<UserSignedOut> {
    if (deviceId !== undefined && sessionId !== undefined) {
      throw new OAuthError('invalid_request', 'device_id and session_id exclude each other');
    }
    return { sessions: await this.users.signOut(userId, origin, { deviceId, sessionId }) };
  }

  /**
   * Sign out a user by the provider’s id or the e-mail address
   *
   * An e-mail address that no user has, or more than one, is `invalid_request`.
   *
   * @returns Signed out.
   * @throws OAuthError `not_found`
   */
  @Post('sign-out')
  @HttpCode(200)
  async signOutFoundUser(
    @Body() { provider, provider_user_id: id, email }: FoundUserDto,
    @From() origin: Origin,
  ): Promise<UserSignedOut> {
    const isPair = provider !== undefined && id !== undefined;
    const isAddress = email !== undefined && provider === undefined && id === undefined;
    if (isPair && email === undefined) {
      return { sessions: await this.users.signOut(userIdOf(provider, id), origin) };
    }
    if (isAddress) return { sessions: await this.users.signOut(await this.users.findByEmail(email), origin) };
    throw new OAuthError('invalid_request', 'give provider and provider_user_id, or email alone');
  }
}

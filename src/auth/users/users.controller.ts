import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put } from '@nestjs/common';
import type { Origin } from '../../audit/audit-event.js';
import { From } from '../../audit/origin.js';
import { Requires } from '../../token/guard/access.js';
import { userIdOf } from '../../user/user-id.js';
import type { UserClaims } from '../../user/claims.js';
import { UsersService } from './users.service.js';
import { OAuthError } from '../../errors/oauth-error.js';
import { AnyObject, OptionalText, RequiredText } from '../../http/parameters/parameter.js';
import { UUID, UuidPipe } from '../../http/parameters/uuid.js';

/** Body of POST /users/:user_id/sign-out; may be left out. */
export class UserSignOutDto {
  /** Only this device of the user. */
  @OptionalText({ matches: { pattern: UUID, as: 'a UUID' } })
  device_id?: string;
}

/** Body of POST /users/sign-out: identity at the provider (contract §6). */
export class ProviderUserDto {
  /** Name of the provider, which need not be configured any more. */
  @RequiredText({ max: 63 })
  provider!: string;

  /** Compared byte for byte. */
  @RequiredText({ max: 255, mayBeBlank: true })
  provider_user_id!: string;
}

/** Body of PUT /users/:user_id/claims. */
export class SetClaimsDto {
  /** All claims of the application, by name: 100 names of 64 characters, 4 KiB of JSON, at most. */
  @AnyObject()
  claims!: Record<string, unknown>;
}

/** Claims of a user (contract §5). */
export class ClaimsOfUser {
  /** Claims that the application has set. */
  claims!: Record<string, unknown>;

  /** Claims from the provider, as of the last sign-in. */
  provider_claims!: Record<string, unknown>;

  /** Claims that tokens carry: `roles`, `groups` and `entitlements` of both; else the value of the application. */
  effective!: Record<string, unknown>;
}

const userIdPipe = new UuidPipe(() => new OAuthError('invalid_request', 'user_id must be a UUID'));

/** Sign-out, claims and removal of users, by an application's backend (contract §4, §9). */
@Requires('users')
@Controller('users')
export class UsersController {
  constructor(private readonly users: UsersService) {}

  /**
   * Sign a user out, everywhere or on one device
   *
   * @returns Signed out.
   * @throws OAuthError `not_found`
   */
  @Requires('support')
  @Post(':user_id/sign-out')
  @HttpCode(204)
  async signOutUser(
    @Param('user_id', userIdPipe) userId: string,
    @Body() { device_id: deviceId }: UserSignOutDto,
  ): Promise<void> {
    await this.users.signOut(userId, deviceId);
  }

  /**
   * Sign out a user by the provider’s id
   *
   * @returns Signed out.
   * @throws OAuthError `not_found`
   */
  @Requires('support')
  @Post('sign-out')
  @HttpCode(204)
  async signOutProviderUser(@Body() { provider, provider_user_id: id }: ProviderUserDto): Promise<void> {
    await this.users.signOut(userIdOf(provider, id));
  }

  /**
   * Claims of a user
   *
   * @returns The claims of both sources, and what tokens carry.
   * @throws OAuthError `not_found`
   */
  @Get(':user_id/claims')
  async claims(@Param('user_id', userIdPipe) userId: string): Promise<ClaimsOfUser> {
    return claimsOf(await this.users.claims(userId));
  }

  /**
   * Replace the claims that the application has set
   *
   * Within a second, all instances and readers of the session revocation feed use the new claims, also for tokens issued before.
   *
   * @returns The claims afterwards.
   * @throws OAuthError `not_found`
   */
  @Put(':user_id/claims')
  async setClaims(
    @Param('user_id', userIdPipe) userId: string,
    @Body() { claims }: SetClaimsDto,
    @From() origin: Origin,
  ): Promise<ClaimsOfUser> {
    return claimsOf(await this.users.setClaims(userId, claims, origin));
  }

  /**
   * Sign a user out and remove them
   *
   * Devices and events are removed as well. A later sign-in creates the user again, with this id.
   *
   * @returns Removed.
   * @throws OAuthError `not_found`
   */
  @Delete(':user_id')
  @HttpCode(204)
  async removeUser(@Param('user_id', userIdPipe) userId: string): Promise<void> {
    await this.users.remove(userId);
  }
}

function claimsOf({ application, provider, effective }: UserClaims): ClaimsOfUser {
  return { claims: application, provider_claims: provider, effective };
}

import { Body, Controller, Get, Param, Put } from '@nestjs/common';
import { type Origin, From } from '../../audit/audit-event.js';
import { AnyObject } from '../../http/parameters/parameter.js';
import { Requires } from '../../token/guard/access.js';
import type { UserClaims } from '../../user/claims.js';
import { userIdPipe } from './user-id.pipe.js';
import { UsersService } from './users.service.js';

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

/** Claims of users (contract §9). */
@Requires('users')
@Controller('users')
export class UserClaimsController {
  constructor(private readonly users: UsersService) {}

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
}

function claimsOf({ application, provider, effective }: UserClaims): ClaimsOfUser {
  return { claims: application, provider_claims: provider, effective };
}

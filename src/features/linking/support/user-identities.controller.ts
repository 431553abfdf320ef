import { Body, Controller, Delete, Get, HttpCode, Param, Post } from '@nestjs/common';
import { RequestOrigin, type Origin } from '../../../audit/audit-event.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { Requires, ServiceKeyOnly } from '../../../platform/http/access.js';
import { UuidPipe } from '../../../platform/http/parameters/uuid.js';
import { NewIdentityDto, type IdentityList, type IdentityView } from '../identities/identities.dto.js';
import { Identities } from '../joining/identities.service.js';

const userIdPipe = new UuidPipe(() => new OAuthError('not_found', 'there is no such user'));

/** Identities of users, for support and for moving in (docs/guides/linking.md#for-support). */
@Requires('users')
@Controller('users/:user_id/identities')
export class UserIdentitiesController {
  constructor(private readonly identities: Identities) {}

  /**
   * Identities by which a user may sign in
   *
   * @returns The user’s own identity, and the joined ones.
   * @throws OAuthError `not_found`
   */
  @Get()
  identitiesOfUser(@Param('user_id', userIdPipe) userId: string): Promise<IdentityList> {
    return this.identities.list(userId);
  }

  /**
   * Join an identity without a sign-in so far
   *
   * For moving in, by a service key alone: a person with the right could sign in as any user. Repeated, it
   * changes nothing. An identity that has signed in is joined by its person alone.
   *
   * @returns The identity.
   * @throws OAuthError `not_found`, `access_denied`, `identity_in_use`
   */
  @ServiceKeyOnly('users')
  @Post()
  @HttpCode(200)
  joinIdentity(
    @Param('user_id', userIdPipe) userId: string,
    @Body() { provider, provider_user_id: id }: NewIdentityDto,
    @RequestOrigin() origin: Origin,
  ): Promise<IdentityView> {
    return this.identities.joinByOperator(userId, provider, id, origin);
  }

  /**
   * Part an identity from that of a user
   *
   * Its sessions end. The next sign-in by it makes another user.
   *
   * @returns Parted.
   * @throws OAuthError `not_found`, `access_denied`
   */
  @Delete(':provider')
  @HttpCode(204)
  partIdentityOfUser(
    @Param('user_id', userIdPipe) userId: string,
    @Param('provider') provider: string,
    @RequestOrigin() origin: Origin,
  ): Promise<void> {
    return this.identities.part(userId, provider, origin);
  }
}

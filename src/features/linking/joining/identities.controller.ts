import { Body, Controller, Delete, Get, Headers, HttpCode, Param, Post } from '@nestjs/common';
import { RequestOrigin, type Origin } from '../../../audit/audit-event.js';
import type { SessionIds } from '../../../platform/events.js';
import { Caller } from '../../../platform/http/access.js';
import { RateLimits } from '../../../platform/http/rate-limit.js';
import {
  BeginIdentityDto,
  CompleteIdentityDto,
  MergeDto,
  type IdentityAuthorization,
  type IdentityList,
  type IdentityView,
  type Merged,
} from '../identities/identities.dto.js';
import { Merges } from '../merge/merges.js';
import { Identities } from './identities.service.js';
import { LinkingSessions } from './linking-session.js';

const PATH = '/me/identities';

/** Identities by which the caller may sign in (docs/guides/linking.md). */
@Controller('me/identities')
export class IdentitiesController {
  constructor(
    private readonly identities: Identities,
    private readonly merges: Merges,
    private readonly sessions: LinkingSessions,
    private readonly limits: RateLimits,
  ) {}

  /**
   * Identities by which the caller may sign in
   *
   * @returns The caller’s own identity, and the joined ones.
   * @throws OAuthError `not_found`, `slow_down`
   */
  @Get()
  async identitiesOfCaller(@Caller() { userId }: SessionIds): Promise<IdentityList> {
    await this.limits.countUser('read', userId);
    return this.identities.list(userId);
  }

  /**
   * Begin to join an identity of another provider
   *
   * This call, and those below, need a session that began within five minutes by the caller’s own identity,
   * or in which the provider has asked for the password since. If the session is bound, they need a `DPoP`
   * proof of its key.
   *
   * @returns Where to send the user.
   * @throws OAuthError `access_denied`, `insufficient_user_authentication`, `invalid_dpop_proof`, `slow_down`
   */
  @Post()
  @HttpCode(200)
  async beginIdentity(
    @Body() body: BeginIdentityDto,
    @Caller() caller: SessionIds,
    @Headers('dpop') header?: string,
  ): Promise<IdentityAuthorization> {
    await this.limits.countUser('write', caller.userId);
    await this.sessions.require({ caller, proof: { header, path: PATH } });
    return this.identities.begin(caller, body);
  }

  /**
   * Join the identity that the user has proved
   *
   * Repeated for an identity that is joined, it changes nothing. `identity_in_use` has `identity` and
   * `merge_token`, if the identity is that of another user who could become part of the caller.
   *
   * @returns The identity.
   * @throws OAuthError `invalid_grant`, `access_denied`, `identity_in_use`,
   *   `insufficient_user_authentication`, `invalid_dpop_proof`, `invalid_client`, `slow_down`
   */
  @Post('complete')
  @HttpCode(200)
  async completeIdentity(
    @Body() body: CompleteIdentityDto,
    @Caller() caller: SessionIds,
    @RequestOrigin() origin: Origin,
    @Headers('dpop') header?: string,
  ): Promise<IdentityView> {
    await this.limits.countUser('write', caller.userId);
    await this.sessions.require({ caller, proof: { header, path: `${PATH}/complete` } });
    return this.identities.complete(caller, body, origin);
  }

  /**
   * Make another user part of the caller
   *
   * The sessions of the other user end, and everything that is stored of them is removed. The identity is
   * joined to the caller’s. Your application hears of it by the event `user_merged`.
   *
   * @returns Merged.
   * @throws OAuthError `invalid_grant`, `access_denied`, `insufficient_user_authentication`,
   *   `invalid_dpop_proof`, `slow_down`
   */
  @Post('merge')
  @HttpCode(200)
  async mergeUsers(
    @Body() { merge_token }: MergeDto,
    @Caller() caller: SessionIds,
    @RequestOrigin() origin: Origin,
    @Headers('dpop') header?: string,
  ): Promise<Merged> {
    await this.limits.countUser('write', caller.userId);
    await this.sessions.require({ caller, proof: { header, path: `${PATH}/merge` } });
    return { former_user_id: await this.merges.merge(caller, merge_token, origin) };
  }

  /**
   * Part an identity from the caller’s
   *
   * Its sessions end. The next sign-in by it makes another user.
   *
   * @returns Parted.
   * @throws OAuthError `not_found`, `access_denied`, `insufficient_user_authentication`,
   *   `invalid_dpop_proof`, `slow_down`
   */
  @Delete(':provider')
  @HttpCode(204)
  async partIdentity(
    @Param('provider') provider: string,
    @Caller() caller: SessionIds,
    @RequestOrigin() origin: Origin,
    @Headers('dpop') header?: string,
  ): Promise<void> {
    await this.limits.countUser('write', caller.userId);
    const path = `${PATH}/${encodeURIComponent(provider)}` as const;
    await this.sessions.require({ caller, proof: { header, path, method: 'DELETE' } });
    await this.identities.part(caller.userId, provider, origin);
  }
}

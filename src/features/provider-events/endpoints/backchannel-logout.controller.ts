import { Body, Controller, HttpCode, Ip, Post, type Type } from '@nestjs/common';
import { type Origin, RequestOrigin } from '../../../audit/audit-event.js';
import { RateLimit } from '../../../platform/http/rate-limit.js';
import { Public } from '../../../platform/http/access.js';
import { BackchannelLogoutDto } from './backchannel-logout.dto.js';
import { BackchannelLogout } from '../effect/backchannel-logout.service.js';

/** Returns a controller for one provider: the path exists for OpenID providers only. */
export function backchannelLogoutOf(provider: string): Type {
  @Controller(`providers/${provider}`)
  class BackchannelLogoutController {
    constructor(private readonly logouts: BackchannelLogout) {}

    /**
     * End sessions on request of an OpenID provider
     *
     * OpenID Connect Back-Channel Logout 1.0: the signature of the token authenticates the provider. Each
     * provider with the adapter `oidc` has such a path. The answer is 200 also if the user is unknown.
     *
     * @returns The sessions have ended.
     * @throws OAuthError `slow_down`
     * @throws {503} `server_error`: the keys of the provider cannot be fetched now.
     */
    @Public()
    @RateLimit({ largestToken: 9216 })
    @Post('backchannel-logout')
    @HttpCode(200)
    async backchannelLogout(
      @Body() { logout_token: token }: BackchannelLogoutDto,
      @RequestOrigin() origin: Origin,
      @Ip() address?: string,
    ): Promise<Record<string, never>> {
      await this.logouts.apply(provider, token, origin, address);
      return {};
    }
  }
  return BackchannelLogoutController;
}

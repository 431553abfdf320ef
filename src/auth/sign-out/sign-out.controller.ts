import { Body, Controller, HttpCode, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import { SignOutService } from '../../device/sign-out.service.js';
import { OAuthError } from '../../errors/oauth-error.js';
import type { Session } from '../../events.js';
import { Caller } from '../../token/guard/access.js';
import { ProviderLogout } from './provider-logout.js';
import { SignOutDto, SignedOut } from './sign-out.dto.js';

@Controller()
export class SignOutController {
  constructor(
    private readonly signOuts: SignOutService,
    private readonly providerLogout: ProviderLogout,
  ) {}

  /**
   * Sign out
   *
   * `current` (the default): every session of the caller’s device, or the caller’s session if it has no device. `others`:
   * everything else. `all`: both. Devices stay listed. Access tokens are refused and sockets closed within a second, on every
   * instance.
   *
   * @returns {200} Signed out; with `provider_logout`, where the browser signs out at the provider as well.
   * @returns {204} Signed out.
   */
  @Post('sign-out')
  @HttpCode(204)
  async signOut(
    @Caller() caller: Session,
    @Body() { scope = 'current', provider_logout: logout }: SignOutDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<SignedOut | undefined> {
    if (logout && scope === 'others') {
      throw new OAuthError('invalid_request', 'provider_logout would end the session that is to stay');
    }
    const account = logout && (await this.providerLogout.accountOf(caller.userId));
    const current = caller.deviceId === null ? 'session' : 'device';
    await this.signOuts.signOut(scope === 'current' ? current : scope, caller);
    // Latchkey's sessions have ended by now, so an error of the provider is no error of the request.
    const url = account && (await this.providerLogout.urlFor(account, logout.redirect_uri));
    if (!url) return undefined;
    response.status(200);
    return { redirect_url: url.href };
  }
}

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
   * Sign out: every session of the caller's device, or the caller's session where it has none (`current`, the default);
   * everything else (`others`); or both (`all`). Devices stay listed (contract §4).
   *
   * With `provider_logout` the answer tells where the browser ends the session with the provider as well. Whatever the
   * provider does, ours have ended by then, and nothing can fail any more.
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
    const url = account && (await this.providerLogout.urlFor(account, logout.redirect_uri));
    if (!url) return undefined;
    response.status(200);
    return { redirect_url: url.href };
  }
}

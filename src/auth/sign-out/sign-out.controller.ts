import { Body, Controller, HttpCode, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import { type Origin, RequestOrigin } from '../../audit/audit-event.js';
import { isRedirectUri } from '../../platform/config/urls/urls.js';
import { SignOutService } from '../../device/sign-out.service.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import type { SessionIds } from '../../platform/events.js';
import { OptionalObject, OptionalText, RequiredText } from '../../platform/http/parameters/parameter.js';
import { Caller } from '../../platform/http/access.js';
import { ProviderLogouts } from './provider-logouts.js';

/** Answer of POST /sign-out, if the provider has a logout page. */
export class SignedOut {
  /** Logout page of the provider, for the browser. */
  redirect_url!: string;
}

/** To sign out at the provider as well (docs/provider-sign-out.md#from-your-application). */
export class ProviderLogoutDto {
  /**
   * Address to which the provider redirects the browser afterwards. Only the caller’s browser is affected, so
   * REDIRECT_URIS does not apply; the provider checks it.
   */
  @RequiredText({
    max: 2048,
    matches: {
      pattern: { test: isRedirectUri },
      as: 'an absolute http(s) URL, or a URI of a private scheme',
    },
  })
  redirect_uri!: string;
}

/** Body of POST /sign-out; may be left out. */
export class SignOutDto {
  @OptionalText({ matches: { pattern: /^(current|others|all)$/, as: 'current, others or all' } })
  scope?: 'current' | 'others' | 'all';

  @OptionalObject(ProviderLogoutDto)
  provider_logout?: ProviderLogoutDto;
}

// SignOutService is in device/: a sign-out announces devices, and auth/ is above that module.
@Controller()
export class SignOutController {
  constructor(
    private readonly signOuts: SignOutService,
    private readonly providerLogouts: ProviderLogouts,
  ) {}

  /**
   * Sign out
   *
   * `current` (the default): every session of the caller’s device, or the caller’s session if it has no
   * device. `others`: everything else. `all`: both. Devices stay listed. Access tokens are refused and
   * sockets closed within a second, on every instance.
   *
   * @returns {200} Signed out; with `provider_logout`: the provider’s logout page.
   * @returns {204} Signed out.
   */
  @Post('sign-out')
  @HttpCode(204)
  async signOut(
    @Caller() caller: SessionIds,
    @Body() { scope = 'current', provider_logout: logout }: SignOutDto,
    @RequestOrigin() origin: Origin,
    @Res({ passthrough: true }) response: Response,
  ): Promise<SignedOut | undefined> {
    if (logout && scope === 'others') {
      throw new OAuthError('invalid_request', 'provider_logout would end the session that is to stay');
    }
    // Before the sign-out, so that nothing has ended if the database is away.
    const page = logout && (await this.providerLogouts.prepare(caller, logout.redirect_uri));
    const current = caller.deviceId === null ? 'session' : 'device';
    await this.signOuts.signOut(scope === 'current' ? current : scope, caller, origin);
    const url = await page?.();
    if (!url) return undefined;
    response.status(200);
    return { redirect_url: url.href };
  }
}

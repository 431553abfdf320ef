import { Body, Controller, HttpCode, Logger, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import { DataSource } from 'typeorm';
import { type Origin, RequestOrigin } from '../../audit/audit-event.js';
import { isRedirectUri } from '../../config/urls/urls.js';
import { SignOutService } from '../../device/sign-out.service.js';
import { OAuthError } from '../../errors/oauth-error.js';
import type { SessionIds } from '../../events.js';
import { OptionalObject, OptionalText, RequiredText } from '../../http/parameters/parameter.js';
import { ProviderRegistry } from '../../provider/provider.registry.js';
import { Caller } from '../../token/guard/access.js';
import { IdTokens } from '../../token/sessions/id-tokens.js';
import { findAccount, type Account } from '../../user/user.store.js';

/** Answer of POST /sign-out, if the provider has a logout page. */
export class SignedOut {
  /** Logout page of the provider, for the browser. */
  redirect_url!: string;
}

/** To sign out at the provider as well (docs/providers.md#signing-out-at-the-provider). */
export class ProviderLogoutDto {
  /**
   * Address to which the provider redirects the browser afterwards. Only the caller’s browser is affected, so REDIRECT_URIS does
   * not apply; the provider checks it.
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
  private readonly logger = new Logger(SignOutController.name);

  constructor(
    private readonly signOuts: SignOutService,
    private readonly providers: ProviderRegistry,
    private readonly idTokens: IdTokens,
    private readonly dataSource: DataSource,
  ) {}

  /**
   * Sign out
   *
   * `current` (the default): every session of the caller’s device, or the caller’s session if it has no device. `others`:
   * everything else. `all`: both. Devices stay listed. Access tokens are refused and sockets closed within a second, on every
   * instance.
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
    // Read before the sign-out, so that nothing has ended if the database is away.
    const account = logout && (await findAccount(this.dataSource.manager, caller.userId));
    const idToken = logout ? await this.idTokens.find(caller) : null;
    const current = caller.deviceId === null ? 'session' : 'device';
    await this.signOuts.signOut(scope === 'current' ? current : scope, caller, origin);
    // Latchkey's sessions have ended by now, so an error of the provider is no error of the request.
    const url = account && (await this.logoutUrl(account, logout.redirect_uri, idToken));
    if (!url) return undefined;
    response.status(200);
    return { redirect_url: url.href };
  }

  /**
   * Returns the provider's logout page (OpenID Connect RP-Initiated Logout 1.0). The hint (§2) is the user's id at the provider: an
   * e-mail address may be old, and not every ID token is kept. Never rejects.
   * @returns undefined if the provider has no such page, is disabled or is away
   */
  private async logoutUrl(
    { provider, providerUserId }: Account,
    redirectUri: string,
    idToken: string | null,
  ): Promise<URL | undefined> {
    try {
      return await this.providers.find(provider)?.logoutUrl({ redirectUri, hint: providerUserId, idToken });
    } catch (error) {
      this.logger.warn({ err: error, msg: `provider ${provider} did not return its logout page` });
      return undefined;
    }
  }
}

import { Body, Controller, HttpCode, Post, Res, Injectable, Logger } from '@nestjs/common';
import type { Response } from 'express';
import { type Origin, RequestOrigin } from '../../audit/audit-event.js';
import { isRedirectUri } from '../../platform/config/urls/urls.js';
import { SignOutService } from '../../device/sign-out.service.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import type { SessionIds } from '../../platform/events.js';
import { OptionalObject, OptionalText, RequiredText } from '../../platform/http/parameters/parameter.js';
import { Caller } from '../../platform/http/access.js';
import { ProviderRegistry } from '../../provider/provider.registry.js';
import { IdTokens } from '../../token/sessions/id-tokens.js';
import { SessionStore } from '../../token/sessions/session.store.js';
import { UserStore } from '../../user/user.store.js';

/** Logout pages of providers (OpenID Connect RP-Initiated Logout 1.0). */
@Injectable()
export class ProviderLogouts {
  private readonly logger = new Logger(ProviderLogouts.name);

  constructor(
    private readonly providers: ProviderRegistry,
    private readonly idTokens: IdTokens,
    private readonly users: UserStore,
    private readonly sessions: SessionStore,
  ) {}

  /**
   * Reads what a logout page needs of a session, which is to end afterwards. The hint (§2) is the user's id
   * at the provider: an e-mail address may be old, and not every ID token is stored.
   * @returns asks the provider for the page; undefined if there is none, or the provider is disabled or away
   */
  async prepare(session: SessionIds, redirectUri: string): Promise<() => Promise<URL | undefined>> {
    const stored = await this.sessions.find(session);
    const joined = stored?.joinedIdentityId;
    const account = joined ? await this.users.findAny(joined) : await this.users.find(session.userId);
    const idToken = this.idTokens.decrypt(stored?.idToken ?? null, session.sessionId);
    return async () => {
      if (!account) return undefined;
      const { provider, providerUserId: hint } = account;
      try {
        return await this.providers.find(provider)?.logoutUrl({ redirectUri, hint, idToken });
      } catch (error) {
        // Latchkey's sessions have ended by now, so an error of the provider is no error of the request.
        this.logger.warn({ err: error, msg: `provider ${provider} did not return its logout page` });
        return undefined;
      }
    };
  }
}

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

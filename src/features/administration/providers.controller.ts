import { Body, Controller, Get, HttpCode, Inject, Param, Post } from '@nestjs/common';
import { RequestOrigin, type Origin } from '../../audit/audit-event.js';
import { textOf } from '../../platform/config/providers/allow-rule.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { listed } from '../../provider/listed-provider.js';
import { ProviderRegistry } from '../../provider/provider.registry.js';
import { redirectUrisToRegister } from '../../provider/redirect-uris.js';
import { Requires } from '../../platform/http/access.js';
import type { AdministeredProviders } from './providers.dto.js';
import { TestBegun, TestResult, TestSignInDto } from './test-sign-in.dto.js';
import { TestSignIns } from './test-sign-ins.js';

@Controller('admin/providers')
export class AdminProvidersController {
  constructor(
    private readonly registry: ProviderRegistry,
    private readonly tests: TestSignIns,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * Providers, with the redirect URIs to register
   *
   * @returns The enabled ones, in the order of the configuration.
   */
  @Requires('support')
  @Get()
  administeredProviders(): AdministeredProviders {
    const { settings } = this;
    const providers = this.registry.list().map((provider) =>
      Object.assign(listed(provider), {
        adapter: provider.adapter,
        url: provider.url ?? null,
        allow: textOf(provider.allow),
        has_directory: provider.directoryClaims !== undefined,
        redirect_uris: [...redirectUrisToRegister(settings, provider)],
        is_sample: provider.isBuiltIn === true,
      }),
    );
    return { providers };
  }

  /**
   * Test a sign-in with a provider
   *
   * Without a body it begins a test: the browser is to be sent to `redirect_url`, from which it returns to
   * `<PUBLIC_URL>/admin/callback`. With `code` and `state` of that callback it shows the identity, and the
   * claims that were received, kept and dropped. Nobody is signed in, and only the audit trail has that there
   * was a test (`provider_tested`).
   *
   * @returns The address of the provider’s page, or the result.
   * @throws OAuthError `invalid_grant`, `not_found`
   */
  @Requires('users')
  @Post(':name/test')
  @HttpCode(200)
  testProvider(
    @Param('name') name: string,
    @Body() { code, state, iss }: TestSignInDto,
    @RequestOrigin() origin: Origin,
  ): Promise<TestBegun | TestResult> {
    if (code === undefined && state === undefined) return this.tests.begin(name);
    if (code === undefined || state === undefined) {
      throw new OAuthError('invalid_request', 'code and state are needed together');
    }
    return this.tests.finish(name, { code, state, iss }, origin);
  }
}

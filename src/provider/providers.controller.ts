import { Controller, Get, Ip, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import { RateLimits } from '../platform/http/rate-limit.js';
import { Public } from '../platform/http/access.js';
import { listed, ProvidersDto, servingDomain, type ProviderList } from './listed-provider.js';
import { ProviderRegistry } from './provider.registry.js';

@Public()
@Controller('oauth2')
export class ProvidersController {
  constructor(
    private readonly providers: ProviderRegistry,
    private readonly limits: RateLimits,
  ) {}

  /**
   * The enabled providers, for sign-in buttons
   *
   * With `email`, those that serve the domain of this address (setting `email_domains`); if none does, those
   * without such domains.
   *
   * @returns In the order of the configuration.
   * @throws OAuthError `slow_down`
   */
  @Get('providers')
  async listProviders(
    @Query() { email }: ProvidersDto,
    @Res({ passthrough: true }) response: Response,
    @Ip() address?: string,
  ): Promise<ProviderList> {
    const all = this.providers.list();
    if (email === undefined) {
      response.setHeader('Cache-Control', 'public, max-age=300');
      const servesDomains = all.some(({ emailDomains }) => emailDomains !== undefined);
      return { providers: all.map(listed), ...(servesDomains && { by_email: true }) };
    }
    await this.limits.count('authorize', address);
    response.setHeader('Cache-Control', 'no-store');
    return { providers: servingDomain(all, email).map(listed) };
  }
}

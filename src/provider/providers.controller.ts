import { Controller, Get, Header } from '@nestjs/common';
import { Public } from '../token/guard/access.js';
import { listed, type ProviderList } from './listed-provider.js';
import { ProviderRegistry } from './provider.registry.js';

@Public()
@Controller('oauth2')
export class ProvidersController {
  constructor(private readonly providers: ProviderRegistry) {}

  /**
   * The enabled providers, for sign-in buttons
   *
   * @returns In the order of the configuration.
   */
  @Get('providers')
  @Header('Cache-Control', 'public, max-age=300')
  listProviders(): ProviderList {
    return { providers: this.providers.list().map(listed) };
  }
}

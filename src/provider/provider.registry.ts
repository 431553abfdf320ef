import { Inject, Injectable } from '@nestjs/common';
import type { Settings } from '../config/settings.js';
import { SETTINGS } from '../config/settings.module.js';
import { OAuthError } from '../errors/oauth-error.js';
import { ContractAdapter } from './adapters/contract.adapter.js';
import { Provider } from './provider.js';
import type { ProviderAdapter } from './provider-adapter.js';

/** The providers that are configured and enabled (spec §4.6). */
@Injectable()
export class ProviderRegistry {
  private readonly providers: ReadonlyMap<string, Provider>;

  constructor(@Inject(SETTINGS) settings: Settings, contract: ContractAdapter) {
    const adapters: Readonly<Record<string, ProviderAdapter>> = { contract };
    this.providers = new Map(
      [...settings.providers].map(([name, provider]) => {
        const adapter = adapters[provider.adapter];
        if (!adapter) throw new Error(`provider ${name}: there is no adapter ${provider.adapter}`);
        return [name, new Provider(provider, adapter)];
      }),
    );
  }

  /** @throws OAuthError `invalid_request` when no provider of that name is configured and enabled. */
  get(name: string): Provider {
    const provider = this.providers.get(name);
    if (!provider) throw new OAuthError('invalid_request', 'provider is unknown or disabled');
    return provider;
  }
}

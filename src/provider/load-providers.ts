import type { Settings } from '../config/settings/settings.js';
import { Events } from '../events.js';
import { ContractAdapter } from './adapters/contract.adapter.js';
import { OAuth2Adapter } from './adapters/oauth2.adapter.js';
import { OidcAdapter } from './adapters/oidc.adapter.js';
import type { ProviderAdapter } from './provider-adapter.js';
import { ProviderRegistry } from './provider.registry.js';
import { ProviderHttp } from './transport/provider-http.js';

/** Loads the providers of the settings for a command, which has no database. */
export async function loadProviders(
  settings: Settings,
): Promise<{ registry: ProviderRegistry; close: () => Promise<void> }> {
  const http = new ProviderHttp();
  const adapters = {
    contract: new ContractAdapter(http),
    oidc: new OidcAdapter(http),
    oauth2: new OAuth2Adapter(http),
  };
  const builtIn = new Map<string, ProviderAdapter>(Object.entries(adapters));
  const registry = await ProviderRegistry.load(settings, builtIn, new Events());
  return { registry, close: () => http.onApplicationShutdown() };
}

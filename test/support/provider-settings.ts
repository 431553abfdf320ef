import type { ProviderSettings } from '../../src/config/settings/settings.js';

/** Settings of a provider for tests that need no service. */
export function providerSettings(name: string, more: Partial<ProviderSettings> = {}): ProviderSettings {
  return {
    name,
    adapter: 'x',
    clientId: 'c',
    clientSecret: 's',
    variables: { adapter: `providers.${name}.adapter`, issuer: `providers.${name}.issuer` },
    options: {},
    ...more,
  };
}

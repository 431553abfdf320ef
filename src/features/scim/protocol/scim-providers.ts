import type { ProviderSettings, ScimSettings } from '../../../platform/config/providers/provider-settings.js';
import type { Settings } from '../../../platform/config/settings/settings.js';
import { SAMPLE_PROVIDER } from '../../../platform/config/providers/enabled-providers.js';

type All = Pick<Settings, 'providers' | 'sampleProvider'>;

/** Returns the address of the interface for the directory of a provider, without a trailing slash. */
export function scimAddress({ publicUrl }: Pick<Settings, 'publicUrl'>, provider: string): string {
  return `${publicUrl}/scim/v2/${provider}`;
}

/** Returns the providers with `scim_token`, by name. */
export function scimProviders(settings: All): ReadonlyMap<string, ScimSettings> {
  const all: [string, Pick<ProviderSettings, 'scim'>][] = [...settings.providers];
  if (settings.sampleProvider) all.push([SAMPLE_PROVIDER, settings.sampleProvider.provider]);
  return new Map(all.flatMap(([name, { scim }]) => (scim ? [[name, scim] as const] : [])));
}

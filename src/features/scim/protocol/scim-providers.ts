import type { Settings } from '../../../platform/config/settings/settings.js';
import type { ScimSettings } from '../scim.settings.js';

/** Returns the address of the interface for the directory of a provider, without a trailing slash. */
export function scimAddress({ publicUrl }: Pick<Settings, 'publicUrl'>, provider: string): string {
  return `${publicUrl}/scim/v2/${provider}`;
}

/** Returns the providers with `scim_token`, by name. */
export function scimProviders({ providers }: Pick<Settings, 'providers'>): ReadonlyMap<string, ScimSettings> {
  return new Map([...providers].flatMap(([name, { scim }]) => (scim ? [[name, scim] as const] : [])));
}

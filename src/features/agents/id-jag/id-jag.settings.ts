import { withPreset } from '../../../platform/config/providers/presets.js';
import type { ProviderRow } from '../../../platform/config/providers/provider-keys.js';
import { siblingVariable } from '../../../platform/config/providers/provider-variables.js';
import { errorLine, InvalidSettings } from '../../../platform/config/settings/invalid-settings.js';
import { onOff } from '../../../platform/config/settings/parsers.js';
import type { Settings } from '../../../platform/config/settings/settings.js';

export const providerKeys = {
  id_jag: {
    parser: onOff,
    adapters: ['oidc'],
    default: 'off',
    doc: '`oidc`, with `AGENTS_FILE`: whether the provider may let programs act for its users (docs/agents.md#your-provider-allows-it).',
  },
} as const satisfies Record<string, ProviderRow<unknown>>;

declare module '../../../platform/config/providers/provider-settings.js' {
  interface ProviderSettings {
    /** Whether assertions of the provider let programs act for its users; unset: off. Adapter `oidc` only. */
    readonly idJag?: true;
  }
}

/**
 * Returns the names of the providers with `id_jag=on`, by issuer without a final slash.
 * @throws InvalidSettings if two have one issuer: a user of one is none of the other
 */
export function idJagIssuers({ providers }: Pick<Settings, 'providers'>): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const settings of providers.values()) {
    if (!settings.idJag) continue;
    const { name, variables, url = '', issuer = url } = withPreset(settings);
    const key = issuer.replace(/\/$/, '');
    const other = names.get(key);
    if (other !== undefined) {
      const variable = siblingVariable(variables.adapter, 'id_jag');
      throw new InvalidSettings([errorLine(variable, `is on, and ${other} has this issuer, too`, 'off')]);
    }
    names.set(key, name);
  }
  return names;
}

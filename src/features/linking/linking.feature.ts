import type { Feature } from '../../extensions.js';
import type { ProviderRow } from '../../platform/config/providers/provider-keys.js';
import { siblingVariable } from '../../platform/config/providers/provider-variables.js';
import { list } from '../../platform/config/settings/parsers.js';
import type { Settings } from '../../platform/config/settings/settings.js';

const providerKeys = {
  links: {
    parser: list('names of providers', (name) => /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name)),
    doc: 'Providers whose identities a user of this one may join to their own, separated by commas (docs/guides/linking.md). Unset: none.',
  },
} as const satisfies Record<string, ProviderRow<unknown>>;

declare module '../../platform/config/providers/provider-settings.js' {
  interface ProviderSettings {
    /** Names of the providers of identities that may be joined to users of this one; unset: none. */
    readonly links?: readonly string[];
  }
}

declare module '../../audit/audit-names.js' {
  interface AuditNames extends Record<'identity_linked' | 'identity_unlinked' | 'user_merged', true> {}
}

declare module '../../platform/events.js' {
  interface EndCauses {
    merged: true;
    unlinked: true;
  }
}

function warningsOf({ providers }: Pick<Settings, 'providers'>): readonly string[] {
  return [...providers.values()].flatMap(({ links = [], variables }) => {
    const variable = siblingVariable(variables.adapter, 'links');
    const unknown = links.filter((name) => !providers.has(name));
    return unknown.map((name) => `${variable}: ${name} is no enabled provider`);
  });
}

export const linking: Feature = {
  name: 'linking',
  providerKeys,
  ofProvider: (source) => {
    const links = source.read(providerKeys, 'links');
    if (links?.includes(source.name)) source.refuse('links', 'names the provider itself', 'another provider');
    return links ? { links } : {};
  },
  warnings: warningsOf,
  isOn: ({ providers }) => [...providers.values()].some(({ links }) => links !== undefined),
  module: async () => ({ module: (await import('./linking.module.js')).LinkingModule }),
  documented: { PROVIDERS_NAME_LINKS: 'mock' },
  auditNames: ['identity_linked', 'identity_unlinked', 'user_merged'],
};

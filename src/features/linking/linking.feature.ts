import type { Feature } from '../../extensions.js';
import type { ProviderRow } from '../../platform/config/providers/provider-keys.js';
import type { ProviderSource } from '../../platform/config/providers/provider-source.js';
import { list } from '../../platform/config/settings/parsers.js';

const providerKeys = {
  links: {
    parser: list('names of providers', (name) => /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name)),
    doc: 'Providers whose identities a user of this one may join to their own, separated by commas (docs/guides/linking.md). Unset: none.',
  },
} as const satisfies Record<string, ProviderRow<unknown>>;

declare module '../../platform/config/providers/provider-settings.js' {
  interface ProviderSettings {
    /** Names of providers whose identities may be joined to users of this one; unset: none. */
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

/** A name must be that of another provider. */
function checkLinks(sources: readonly ProviderSource[]): void {
  const names = new Set(sources.map(({ name }) => name));
  for (const source of sources) {
    for (const name of source.read(providerKeys, 'links') ?? []) {
      if (name === source.name) source.refuse('links', 'names the provider itself', 'another provider');
      else if (!names.has(name)) source.refuse('links', `names ${name}`, 'the name of an enabled provider');
    }
  }
}

export const linking: Feature = {
  name: 'linking',
  providerKeys,
  ofProvider: (source) => {
    const links = source.read(providerKeys, 'links');
    return links ? { links } : {};
  },
  checkProviders: checkLinks,
  isOn: ({ providers }) => [...providers.values()].some(({ links }) => links !== undefined),
  module: async () => ({ module: (await import('./linking.module.js')).LinkingModule }),
  documented: { PROVIDERS_NAME_LINKS: 'mock' },
  auditNames: ['identity_linked', 'identity_unlinked', 'user_merged'],
  entities: async () => ({
    ...(await import('./identities/joined-identity.entity.js')),
    ...(await import('./identities/joined-session.entity.js')),
  }),
  migrations: () => import('./migrations/1796000000001-linking.js'),
};

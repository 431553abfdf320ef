import type { Feature } from '../../extensions.js';
import { claimPaths } from '../../platform/config/providers/claim-paths.js';
import { ADAPTERS } from '../../platform/config/providers/provider-keys.js';
import type { ProviderSettings } from '../../platform/config/providers/provider-settings.js';
import * as parsers from '../../platform/config/settings/parsers.js';
import { settingRows, type SettingValues } from '../../platform/config/settings/setting-row.js';
import type { Settings } from '../../platform/config/settings/settings.js';

const settings = settingRows({
  adminEnabled: {
    section: 'Administration page',
    parser: parsers.boolean,
    default: 'true',
    productionDefault: 'false',
    doc: 'The administration page at `/admin`, with its callback `/admin/callback` as an allowed redirect URI. Without it no role grants a right.',
  },
  adminRole: {
    parser: parsers.text,
    default: 'latchkey-admin',
    doc: 'Role that grants the right `users`: everything on the administration page.',
  },
  supportRole: {
    parser: parsers.text,
    default: 'latchkey-support',
    doc: 'Role that grants the right `support`: to read users and the audit trail, and to end sessions.',
  },
  adminProviders: {
    parser: parsers.list('names of providers, in lower case', (name) =>
      /^[a-z0-9][a-z0-9_-]{0,62}$/.test(name),
    ),
    defaultShown: 'all; in production none',
    doc: 'Comma-separated providers whose `roles` may grant these rights. Roles set by `PUT /users/:user_id/claims` always may.',
  },
});

declare module '../../platform/config/settings/settings.js' {
  interface Settings extends SettingValues<typeof settings> {}
}

declare module '../../audit/audit-names.js' {
  interface AuditNames extends Record<'user_suspended' | 'user_restored' | 'provider_tested', true> {}
}

/** Returns the redirect URI of sign-ins on the administration page. */
export function adminCallback({ publicUrl }: Pick<Settings, 'publicUrl'>): string {
  return `${publicUrl}/admin/callback`;
}

export const administration: Feature = {
  name: 'administration',
  settings,
  warnings({ adminProviders = [], providers: enabled }, all) {
    const strangers = adminProviders.filter((name) => !all.has(name) && !enabled.has(name));
    if (strangers.length === 0) return [];
    return [`ADMIN_PROVIDERS names a provider without settings: ${strangers.join(', ')}.`];
  },
  advise: withoutAdministrators,
  redirectUris: (all) => (all.adminEnabled ? [{ uri: adminCallback(all), isRegistered: true }] : []),
  isOn: () => true, // `/users`, also without the page
  documented: { ADMIN_ENABLED: 'true' },
  auditNames: ['user_suspended', 'user_restored', 'provider_tested'],
  module: async (all) => (await import('./administration.module.js')).AdministrationModule.forRoot(all),
};

type Roles = Pick<Settings, 'adminEnabled' | 'adminProviders' | 'production' | 'providers' | 'serviceKeys'>;

/**
 * Returns a warning if the administration page is on and no user can get a role of it
 * (docs/administration.md#turn-it-on). Roles that the database has already are not looked at.
 * @param givesClaims whether users have claims of other sources than the provider
 */
export function withoutAdministrators(all: Roles, givesClaims: boolean): string | undefined {
  const { adminEnabled, production, serviceKeys } = all;
  if (!adminEnabled) return undefined;
  const isGenerated = !production && serviceKeys.length === 0; // by a start, with all rights
  if (isGenerated || serviceKeys.some(({ rights }) => rights.includes('users'))) return undefined;
  if (trustedProviders(all).some((one) => givesClaims || maySendRoles(one))) return undefined;
  return (
    'ADMIN_ENABLED is on, but nobody can get a role: no service key has the right users, and no provider ' +
    'that sends roles may grant them. Add a key users:<key> to SERVICE_KEYS, or name a provider that keeps ' +
    'roles in ADMIN_PROVIDERS.'
  );
}

/** Providers with roles that grant rights, as UserRights decides. */
function trustedProviders({ adminProviders, production, providers }: Roles): ProviderSettings[] {
  const names = adminProviders ?? (production ? [] : [...providers.keys()]);
  return names.flatMap((name) => providers.get(name) ?? []);
}

/** An adapter of an integrator may send what it likes; a directory sends roles, too. */
function maySendRoles({ adapter, options, directoryClaims }: ProviderSettings): boolean {
  if (directoryClaims !== undefined || !ADAPTERS.has(adapter)) return true;
  return claimPaths(options['claims']).some(([name]) => name === 'roles');
}

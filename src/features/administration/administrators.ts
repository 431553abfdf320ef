import { claimPaths } from '../../platform/config/providers/claim-paths.js';
import { ADAPTERS } from '../../platform/config/providers/provider-keys.js';
import type { ProviderSettings } from '../../platform/config/providers/provider-settings.js';
import type { Settings } from '../../platform/config/settings/settings.js';

type Roles = Pick<Settings, 'adminEnabled' | 'adminProviders' | 'production' | 'providers' | 'serviceKeys'>;

/**
 * Returns a warning if the administration page is on and no user can get a role of it
 * (docs/administration.md#turn-it-on). Roles that the database has already are not looked at.
 * @param givesClaims whether users have claims of other sources than the provider
 */
export function withoutAdministrators(settings: Roles, givesClaims: boolean): string | undefined {
  const { adminEnabled, production, serviceKeys } = settings;
  if (!adminEnabled) return undefined;
  const isGenerated = !production && serviceKeys.length === 0; // by a start, with all rights
  if (isGenerated || serviceKeys.some(({ rights }) => rights.includes('users'))) return undefined;
  if (trustedProviders(settings).some((one) => givesClaims || maySendRoles(one))) return undefined;
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

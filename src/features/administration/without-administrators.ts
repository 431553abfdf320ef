import { claimPaths } from '../../platform/config/providers/claim-paths.js';
import { SAMPLE_PROVIDER } from '../../platform/config/providers/enabled-providers.js';
import { ADAPTERS } from '../../platform/config/providers/provider-keys.js';
import type { ProviderSettings } from '../../platform/config/providers/provider-settings.js';
import type { Settings } from '../../platform/config/settings/settings.js';

type Roles = Pick<
  Settings,
  | 'adminEnabled'
  | 'adminProviders'
  | 'admissionUrl'
  | 'production'
  | 'providers'
  | 'sampleProvider'
  | 'serviceKeys'
>;

/**
 * Returns a warning if the administration page is on and no user can get a role of it
 * (docs/administration.md#turn-it-on). Roles that the database has already are not looked at.
 */
export function withoutAdministrators(settings: Roles): string | undefined {
  const { adminEnabled, production, serviceKeys } = settings;
  if (!adminEnabled) return undefined;
  const isGenerated = !production && serviceKeys.length === 0; // by a start, with all rights
  if (isGenerated || serviceKeys.some(({ rights }) => rights.includes('users'))) return undefined;
  if (trustedProviders(settings).some((one) => maySendRoles(one, settings))) return undefined;
  return (
    'ADMIN_ENABLED is on, but nobody can get a role: no service key has the right users, and no provider ' +
    'that sends roles may grant them. Add a key users:<key> to SERVICE_KEYS, or name a provider that keeps ' +
    'roles in ADMIN_PROVIDERS.'
  );
}

type Sender = Pick<ProviderSettings, 'options' | 'scim'> & { readonly adapter?: string };

/** Providers with roles that grant rights, as UserRights decides. */
function trustedProviders({ adminProviders, production, providers, sampleProvider }: Roles): Sender[] {
  const all = new Map<string, Sender>(providers);
  if (sampleProvider) all.set(SAMPLE_PROVIDER, sampleProvider.provider);
  const names = adminProviders ?? (production ? [] : [...all.keys()]);
  return names.flatMap((name) => all.get(name) ?? []);
}

/**
 * An adapter of an integrator may send what it likes; a directory and the admission service send roles, too.
 */
function maySendRoles(sender: Sender, { admissionUrl, sampleProvider }: Roles): boolean {
  if (sender === sampleProvider?.provider) return true; // its accounts may have roles
  const { adapter, options, scim } = sender;
  if (scim !== undefined || admissionUrl !== undefined) return true;
  if (adapter !== undefined && !ADAPTERS.has(adapter)) return true;
  return claimPaths(options['claims']).some(([name]) => name === 'roles');
}

import type { ProviderSettings, Settings } from '../config/settings/settings.js';
import { isOpenId, PRESET_ADAPTERS, type PresetName } from '../config/providers/provider-keys.js';

/** Addresses and peculiarities of a known product; only credentials are missing (contract §6). */
interface Preset {
  readonly label: string;
  readonly url?: string;
  readonly options: Readonly<Record<string, string>>;
  /** Expected `iss` of the callback (RFC 9207), if the adapter does not define it. */
  readonly issuer?: string;
}

const PRESETS: Readonly<Record<PresetName, Preset>> = {
  github: {
    label: 'GitHub',
    options: {
      authorize_url: 'https://github.com/login/oauth/authorize',
      token_url: 'https://github.com/login/oauth/access_token',
      userinfo_url: 'https://api.github.com/user',
      scope: 'read:user',
      claim_user_id: 'id',
      claim_username: 'name,login',
      claim_avatar_url: 'avatar_url',
    },
    issuer: 'https://github.com/login/oauth',
  },
  discord: {
    label: 'Discord',
    options: {
      authorize_url: 'https://discord.com/oauth2/authorize',
      token_url: 'https://discord.com/api/oauth2/token',
      userinfo_url: 'https://discord.com/api/users/@me',
      scope: 'identify email',
      claim_user_id: 'id',
      claim_username: 'global_name,username',
      claim_avatar_url: 'https://cdn.discordapp.com/avatars/{id}/{avatar}.png',
    },
    issuer: 'https://discord.com',
  },
  google: { label: 'Google', url: 'https://accounts.google.com', options: {} },
};

/** Completes settings from their preset, and replaces its name by its adapter. Returns other settings unchanged. */
export function withPreset(provider: ProviderSettings): ProviderSettings {
  if (!isPreset(provider.adapter)) return provider;
  const adapter = PRESET_ADAPTERS[provider.adapter];
  const { label, url, issuer, options: usual } = PRESETS[provider.adapter];
  const options = { ...usual, ...provider.options };
  // For another server (GitHub Enterprise) the preset's issuer is foreign: its codes must not go there (RFC 9700 §4.4).
  const isSameServer = ['authorize_url', 'token_url'].every(
    (key) => originOf(options[key]) === originOf(usual[key]),
  );
  return {
    label,
    ...(url !== undefined && { url }),
    ...(issuer !== undefined && isSameServer && { issuer }),
    ...provider,
    adapter,
    options,
  };
}

function isPreset(adapter: string): adapter is PresetName {
  return Object.hasOwn(PRESETS, adapter);
}

/** Names of the providers that can send logout tokens (contract §6). */
export function openIdProviders({ providers }: Pick<Settings, 'providers'>): string[] {
  return [...providers.values()].filter(({ adapter }) => isOpenId(adapter)).map(({ name }) => name);
}

function originOf(url?: string): string | undefined {
  return url && new URL(url).origin;
}

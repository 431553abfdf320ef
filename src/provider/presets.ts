import type { ProviderSettings, Settings } from '../config/settings/settings.js';
import { isOpenId, PRESET_ADAPTERS, type PresetName } from '../config/providers/provider-keys.js';

/** A provider whose addresses and habits are known, so that credentials are all it needs (contract §6). */
interface Preset {
  /** The brand, for people. */
  readonly label: string;
  readonly url?: string;
  readonly options: Readonly<Record<string, string>>;
  /** What `iss` in the callback is (RFC 9207), where the adapter does not know it itself. */
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

/** The settings, completed from their preset, with its adapter in place of its name. Without a preset: unchanged. */
export function withPreset(provider: ProviderSettings): ProviderSettings {
  if (!isPreset(provider.adapter)) return provider;
  const adapter = PRESET_ADAPTERS[provider.adapter];
  const { label, url, issuer, options: usual } = PRESETS[provider.adapter];
  const options = { ...usual, ...provider.options };
  // With another server (GitHub Enterprise) the issuer is foreign: codes that it made must not go there (RFC 9700 §4.4).
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

/** The providers that can send logout tokens (contract §6). */
export function openIdProviders({ providers }: Pick<Settings, 'providers'>): string[] {
  return [...providers.values()].filter(({ adapter }) => isOpenId(adapter)).map(({ name }) => name);
}

function originOf(url?: string): string | undefined {
  return url && new URL(url).origin; // config has judged it
}

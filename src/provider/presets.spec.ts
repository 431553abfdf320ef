import { parseSettings } from '../config/settings/parse-settings.js';
import type { ProviderSettings } from '../config/settings/settings.js';
import { openIdProviders, withPreset } from './presets.js';

/** As an adapter gets them. */
function settingsOf(keys: Record<string, string>): ProviderSettings {
  const all = { client_id: 'web', client_secret: 's3cret', ...keys };
  const env = Object.fromEntries(Object.entries(all).map(([key, value]) => [`providers.idp.${key}`, value]));
  return withPreset(parseSettings(env).providers.get('idp')!);
}

it.each([
  [
    'github',
    'GitHub',
    'oauth2',
    { token_url: 'https://github.com/login/oauth/access_token', claim_user_id: 'id' },
  ],
  [
    'discord',
    'Discord',
    'oauth2',
    { token_url: 'https://discord.com/api/oauth2/token', scope: 'identify email' },
  ],
  ['google', 'Google', 'oidc', {}],
])('%s is a preset with the label %s and the adapter %s', (preset, label, adapter, options) => {
  const provider = settingsOf({ adapter: preset });
  const credentials = { clientId: 'web', clientSecret: 's3cret' };
  expect(provider).toMatchObject({ name: 'idp', ...credentials, label, adapter, options });
  expect(provider.url).toBe(preset === 'google' ? 'https://accounts.google.com' : undefined);
  expect(settingsOf({ adapter: preset, label: 'Ours' }).label).toBe('Ours');
});

it('those that can send logout tokens speak OpenID Connect, by themselves or by a preset', () => {
  const env = Object.entries({ one: 'oidc', two: 'github', three: 'google', four: 'contract' }).flatMap(
    ([name, adapter]) => {
      const keys = { adapter, client_id: 'web', client_secret: 's3cret', url: 'https://id.example' };
      return Object.entries(keys).map(([key, value]) => [`providers.${name}.${key}`, value]);
    },
  );
  expect(openIdProviders(parseSettings(Object.fromEntries(env)))).toEqual(['one', 'three']);
});

it('settings override a preset', () => {
  const token_url = 'https://github.corp.example/login/oauth/access_token';
  expect(settingsOf({ adapter: 'github', token_url }).options).toMatchObject({
    authorize_url: 'https://github.com/login/oauth/authorize',
    token_url,
  });
  expect(settingsOf({ adapter: 'google', url: 'https://idp.example' }).url).toBe('https://idp.example');
});

it.each(['contract', 'oidc', 'constructor', '/srv/github'])('%s is not a preset', (adapter) => {
  const { providers } = parseSettings({
    'providers.idp.adapter': adapter,
    'providers.idp.url': 'https://idp.example',
    'providers.idp.client_id': 'web',
    'providers.idp.client_secret': 's3cret',
  });
  expect(withPreset(providers.get('idp')!)).toBe(providers.get('idp'));
});

describe('what iss in the callback must be (RFC 9207)', () => {
  const enterprise = {
    adapter: 'github',
    authorize_url: 'https://github.corp.example/login/oauth/authorize',
    token_url: 'https://github.corp.example/login/oauth/access_token',
  };

  it.each<[string, Record<string, string>, string | undefined]>([
    ['github', { adapter: 'github' }, 'https://github.com/login/oauth'],
    ['discord', { adapter: 'discord' }, 'https://discord.com'],
    ['google, from its discovery document', { adapter: 'google' }, undefined],
    [
      'github with a parameter more',
      { adapter: 'github', authorize_url: 'https://github.com/login/oauth/authorize?prompt=login' },
      'https://github.com/login/oauth',
    ],
    ['GitHub Enterprise, whose issuer is not GitHub', enterprise, undefined],
    ['one address of it', { adapter: 'github', token_url: enterprise.token_url }, undefined],
    [
      'GitHub Enterprise, as set',
      { ...enterprise, issuer: 'https://github.corp.example' },
      'https://github.corp.example',
    ],
  ])('%s', (_name, keys, issuer) => expect(settingsOf(keys).issuer).toBe(issuer));
});

import { listed } from '../../../provider/listed-provider.js';
import { parseSettings } from '../settings/parse-settings.js';
import type { ProviderSettings } from '../settings/settings.js';
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
  ['gitlab', 'GitLab', 'oidc', {}],
  ['linkedin', 'LinkedIn', 'oidc', { pkce: 'off', nonce: 'off' }],
  ['slack', 'Slack', 'oidc', { pkce: 'off' }],
  ['facebook', 'Facebook', 'oauth2', { claim_user_id: 'id', claim_avatar_url: 'picture.data.url' }],
])('%s is a preset with the label %s and the adapter %s', (preset, label, adapter, options) => {
  const provider = settingsOf({ adapter: preset });
  const credentials = { clientId: 'web', clientSecret: 's3cret' };
  expect(provider).toMatchObject({ name: 'idp', ...credentials, label, adapter, options });
  const urls: Record<string, string> = {
    google: 'https://accounts.google.com',
    gitlab: 'https://gitlab.com',
    linkedin: 'https://www.linkedin.com/oauth',
    slack: 'https://slack.com',
  };
  expect(provider.url).toBe(urls[preset]);
  expect(listed(provider).mode).toBe('popup');
  expect(settingsOf({ adapter: preset, label: 'Ours' }).label).toBe('Ours');
});

it.each(['okta', 'auth0', 'keycloak'])('%s needs its address', (adapter) => {
  const provider = settingsOf({ adapter, url: 'https://id.example/realms/a/' });
  expect(provider).toMatchObject({ adapter: 'oidc', url: 'https://id.example/realms/a', options: {} });
  expect(provider.label?.toLowerCase()).toBe(adapter);
});

const [ONE, TWO] = ['00000000-0000-4000-8000-00000000000A', '00000000-0000-4000-8000-00000000000b'];
const PERSONAL = '9188040d-6c67-4c5b-b112-36a304b66dad';
it.each([
  [ONE, ONE.toLowerCase()],
  [`${ONE}, ${TWO}`, 'organizations'],
  [`${TWO},${PERSONAL}`, 'common'],
  [PERSONAL, PERSONAL],
])('microsoft with the tenants %s has the issuer of %s', (tenants, path) => {
  const url = `https://login.microsoftonline.com/${path}/v2.0`;
  expect(settingsOf({ adapter: 'microsoft', tenants })).toMatchObject({ adapter: 'oidc', url });
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

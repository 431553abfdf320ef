import { hkdfSync } from 'node:crypto';
import { parseSettings } from '../../settings.js';
import type { Environment } from '../../platform/config/settings/setting-row.js';

const SECRET_KEY = 'ab'.repeat(32);
const sampleOf = (env: Environment) => parseSettings({ SECRET_KEY, ...env }).providers.get('mock');

it('is reached by browsers under PUBLIC_URL, and by the service at its own address', () => {
  expect(sampleOf({ PUBLIC_URL: 'https://id.example', PORT: '4000' })).toEqual({
    name: 'mock',
    label: 'Sample provider',
    adapter: 'contract',
    isBuiltIn: true,
    authTime: 'sign_in',
    url: 'https://id.example/providers/mock',
    internalUrl: 'http://127.0.0.1:4000/providers/mock',
    clientId: 'latchkey',
    clientSecret: expect.stringMatching(/^[0-9a-f]{64}$/),
    variables: { adapter: 'PROVIDERS_MOCK_ADAPTER', issuer: 'PROVIDERS_MOCK_ISSUER' },
    options: { claims: 'roles=claims.roles' },
  });
});

it.each([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '[::1]'],
  ['::1', '[::1]'],
  ['10.0.0.5', '10.0.0.5'],
  ['localhost', 'localhost'],
])('calls itself, listening on %s, at %s', (HOST, host) => {
  expect(sampleOf({ HOST })?.internalUrl).toBe(`http://${host}:3000/providers/mock`);
});

it('has the same secret in each version of the service: while one is rolled out, two work together', () => {
  const key = Buffer.from(SECRET_KEY, 'hex');
  const secret = Buffer.from(hkdfSync('sha256', key, '', 'latchkey sample-provider', 32));
  expect(sampleOf({})?.clientSecret).toBe(secret.toString('hex'));
});

it('has the list, the issuer, the label and the mode that were set', () => {
  const env = {
    PROVIDERS_MOCK_REDIRECT_URIS: 'https://app.example/cb',
    PROVIDERS_MOCK_ISSUER: 'https://id.example',
    PROVIDERS_MOCK_ACCOUNTS: '/srv/accounts.json',
    PROVIDERS_MOCK_LABEL: 'Our accounts',
    'providers.mock.mode': 'redirect',
  };
  expect(sampleOf(env)).toMatchObject({
    redirectUris: ['https://app.example/cb'],
    issuer: 'https://id.example',
    label: 'Our accounts',
    mode: 'redirect',
  });
  expect(parseSettings(env).warnings.join()).not.toContain('mock');
});

it.each([{ PROVIDERS_MOCK_ENABLED: 'false' }, { PROVIDERS_MOCK_URL: 'https://idp.example' }])(
  'is not there with %j',
  (env) =>
    expect(
      sampleOf({ ...env, PROVIDERS_MOCK_CLIENT_ID: 'x', PROVIDERS_MOCK_CLIENT_SECRET: 'x' })?.isBuiltIn,
    ).toBeUndefined(),
);

it('takes accounts and a redirect list', () => {
  const env = {
    PROVIDERS_MOCK_ACCOUNTS: 'accounts.json',
    'providers.mock.redirect_uris': 'https://app.example/cb',
  };
  expect(parseSettings(env, { cwd: '/srv' }).providers.get('mock')).toMatchObject({
    accountsFile: { path: '/srv/accounts.json' },
    redirectUris: ['https://app.example/cb'],
  });
});

it('is off in production until enabled, with accounts', () => {
  const production = {
    SECRET_KEY,
    NODE_ENV: 'production',
    DATA_DIR: '/srv/data',
    REDIRECT_URIS: 'https://app.example/cb',
    TRUST_PROXY: 'false',
    PROVIDERS_MOCK_ACCOUNTS: '/srv/accounts.json',
  };
  expect(parseSettings(production).providers.has('mock')).toBe(false);
  const on = parseSettings({ ...production, PROVIDERS_MOCK_ENABLED: 'true' });
  expect(on.providers.get('mock')?.accountsFile?.path).toBe('/srv/accounts.json');
  const without = { ...production, PROVIDERS_MOCK_ENABLED: 'true', PROVIDERS_MOCK_ACCOUNTS: '' };
  expect(() => parseSettings(without)).toThrow('PROVIDERS_MOCK_ACCOUNTS is not set');
});

it('is a provider like any other once it has a url', () => {
  const { providers } = parseSettings({
    'providers.mock.url': 'https://idp.example',
    'providers.mock.client_id': 'web',
    'providers.mock.client_secret': 's3cret',
  });
  const mock = providers.get('mock');
  expect(mock).toMatchObject({ name: 'mock', url: 'https://idp.example', clientId: 'web' });
  expect(mock).not.toHaveProperty('isBuiltIn');
});

it('has credentials of its own, which a warning says', () => {
  const { providers, warnings } = parseSettings({ PROVIDERS_MOCK_CLIENT_ID: 'web' });
  expect(providers.get('mock')?.clientId).toBe('latchkey');
  expect(warnings.join()).toContain('Provider mock has no url');
});

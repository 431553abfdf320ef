import { hkdfSync } from 'node:crypto';
import { parseSettings } from '../platform/config/settings/parse-settings.js';
import type { Environment } from '../platform/config/settings/setting-row.js';
import { sampleProvider } from './sample-provider.js';

const SECRET_KEY = 'ab'.repeat(32);
const sampleOf = (env: Environment) => sampleProvider(parseSettings({ SECRET_KEY, ...env }));

it('is reached by browsers under PUBLIC_URL, and by the service at its own address', () => {
  expect(sampleOf({ PUBLIC_URL: 'https://id.example', PORT: '4000' })).toEqual({
    name: 'mock',
    label: 'Sample provider',
    adapter: 'contract',
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
    options: {},
  });
});

it.each([{ PROVIDERS_MOCK_ENABLED: 'false' }, { PROVIDERS_MOCK_URL: 'https://idp.example' }])(
  'is not there with %j',
  (env) =>
    expect(
      sampleOf({ ...env, PROVIDERS_MOCK_CLIENT_ID: 'x', PROVIDERS_MOCK_CLIENT_SECRET: 'x' }),
    ).toBeUndefined(),
);

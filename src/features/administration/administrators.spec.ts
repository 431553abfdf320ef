import { parseSettings } from '../../settings.js';
import { withoutAdministrators } from './administration.feature.js';

const DATA_DIR = '/data';
const CORP = {
  PROVIDERS_CORP_ADAPTER: 'oidc',
  PROVIDERS_CORP_URL: 'https://login.corp.example',
  PROVIDERS_CORP_CLIENT_ID: 'latchkey',
  PROVIDERS_CORP_CLIENT_SECRET: 'a client secret of corp',
  SECRET_KEY: 'ab'.repeat(32),
  REDIRECT_URIS: 'https://app.example/callback',
  PUBLIC_URL: 'https://id.example',
  TRUST_PROXY: '1',
  DATA_DIR,
};
const PAGE = { NODE_ENV: 'production', ADMIN_ENABLED: 'true' };
const KEY = 'k'.repeat(32);
it.each([
  [{}, true],
  [{ ADMIN_ENABLED: 'false' }, false],
  [{ NODE_ENV: 'development' }, false], // a start generates a key
  [{ SERVICE_KEYS: `read:${KEY},desk=support:${KEY}2` }, true],
  [{ SERVICE_KEYS: `users:${KEY}` }, false],
  [{ SERVICE_KEYS: KEY }, false],
  [{ PROVIDERS_CORP_CLAIMS: 'roles=roles' }, true],
  [{ PROVIDERS_CORP_CLAIMS: 'roles=roles', ADMIN_PROVIDERS: 'other' }, true],
  [{ PROVIDERS_CORP_CLAIMS: 'groups=roles', ADMIN_PROVIDERS: 'corp' }, true],
  [{ PROVIDERS_CORP_CLAIMS: 'roles=roles', ADMIN_PROVIDERS: 'corp' }, false],
  [{ PROVIDERS_CORP_ADAPTER: './adapter.js', ADMIN_PROVIDERS: 'corp' }, false],
])('warns if nobody can get a role of the administration page: %j', (env, warns) => {
  const settings = parseSettings({ ...CORP, ...PAGE, ...env });
  const warning = withoutAdministrators(settings, false);
  if (warns) expect(warning).toContain('nobody can get a role');
  else expect(warning).toBeUndefined();
});

it('does not warn if users have claims of a feature, which may be roles', () => {
  const production = parseSettings({ ...PAGE, ...CORP, ADMIN_PROVIDERS: 'corp' });
  expect(withoutAdministrators(production, false)).toContain('nobody can get a role');
  expect(withoutAdministrators(production, true)).toBeUndefined();
});

it('warns of ADMIN_PROVIDERS with a name of no provider', () => {
  const { warnings } = parseSettings({ ...CORP, ADMIN_PROVIDERS: 'corp,mock,ipd' });
  expect(warnings).toContain('ADMIN_PROVIDERS names a provider without settings: ipd.');
});

import { parseSettings } from '../../settings.js';
import type { Environment } from '../../platform/config/settings/setting-row.js';

const idp = {
  PROVIDERS_IDP_URL: 'https://idp.example/base/',
  PROVIDERS_IDP_CLIENT_ID: 'web',
  PROVIDERS_IDP_CLIENT_SECRET: 's3cret',
};
const oauth2 = {
  'providers.idp.adapter': 'oauth2',
  'providers.idp.authorize_url': 'https://idp.example/authorize',
  'providers.idp.token_url': 'https://idp.example/token',
  'providers.idp.userinfo_url': 'https://idp.example/me',
  'providers.idp.client_id': 'web',
  'providers.idp.client_secret': 's3cret of more than sixteen',
};

it.each<[string, Environment, string]>([
  [
    'recheck too often',
    { ...idp, PROVIDERS_IDP_ADAPTER: 'oidc', PROVIDERS_IDP_RECHECK: '59' },
    'PROVIDERS_IDP_RECHECK is invalid. Use a whole number from 60 to 2592000 (seconds)',
  ],
  [
    'a grace of recheck that is too short',
    {
      ...idp,
      PROVIDERS_IDP_ADAPTER: 'oidc',
      PROVIDERS_IDP_RECHECK: '60',
      PROVIDERS_IDP_RECHECK_GRACE: '0',
    },
    'PROVIDERS_IDP_RECHECK_GRACE is invalid. Use a whole number from 60 to 31536000 (seconds)',
  ],
  [
    'a rate of recheck that is too high',
    {
      ...idp,
      PROVIDERS_IDP_ADAPTER: 'oidc',
      PROVIDERS_IDP_RECHECK: '60',
      PROVIDERS_IDP_RECHECK_RATE: '1001',
    },
    'PROVIDERS_IDP_RECHECK_RATE is invalid. Use a whole number from 1 to 1000 (calls a second)',
  ],
  [
    'a rate without recheck',
    { ...idp, PROVIDERS_IDP_ADAPTER: 'keycloak', PROVIDERS_IDP_RECHECK_RATE: '5' },
    'PROVIDERS_IDP_RECHECK_RATE needs recheck. Use PROVIDERS_IDP_RECHECK as well, or remove it',
  ],
  [
    'recheck of another adapter',
    { ...oauth2, 'providers.idp.recheck': '60' },
    'providers.idp.recheck is not a setting of the adapter oauth2. Use providers.idp.adapter with an adapter that has it, or remove it',
  ],
  [
    "recheck of an integrator's adapter",
    { ...idp, PROVIDERS_IDP_ADAPTER: './mine.js', PROVIDERS_IDP_RECHECK: '60' },
    'PROVIDERS_IDP_RECHECK is not a setting of the adapter ./mine.js. Use PROVIDERS_IDP_ADAPTER with an adapter that has it',
  ],
])('refuses %s', (_, env, message) => expect(() => parseSettings(env)).toThrow(message));

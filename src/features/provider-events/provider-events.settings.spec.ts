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
    'signals of another adapter',
    { ...oauth2, 'providers.idp.signals': 'on' },
    'providers.idp.signals is not a setting of the adapter oauth2. Use providers.idp.adapter with an adapter that has it, or remove it',
  ],
  [
    'signals_end without signals',
    { ...idp, PROVIDERS_IDP_ADAPTER: 'keycloak', PROVIDERS_IDP_SIGNALS_END: 'session-revoked' },
    'PROVIDERS_IDP_SIGNALS_END needs signals. Use PROVIDERS_IDP_SIGNALS as well, or remove it',
  ],
  [
    'an event that ends no session',
    {
      ...idp,
      PROVIDERS_IDP_ADAPTER: 'oidc',
      PROVIDERS_IDP_SIGNALS: 'on',
      PROVIDERS_IDP_SIGNALS_END: 'session-revoked,account-enabled',
    },
    'PROVIDERS_IDP_SIGNALS_END is invalid. Use a comma-separated list of session-revoked,',
  ],
])('refuses %s', (_, env, message) => expect(() => parseSettings(env)).toThrow(message));

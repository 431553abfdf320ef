import { parseSettings } from '../../settings.js';
import type { Environment } from '../../platform/config/settings/setting-row.js';

const idp = {
  PROVIDERS_IDP_URL: 'https://idp.example/base/',
  PROVIDERS_IDP_CLIENT_ID: 'web',
  PROVIDERS_IDP_CLIENT_SECRET: 's3cret',
};
const TENANT = '00000000-0000-4000-8000-000000000000';
const TOKEN = 'x'.repeat(32);

describe('the claim that names a user in the directory', () => {
  const MICROSOFT = { PROVIDERS_IDP_ADAPTER: 'microsoft', PROVIDERS_IDP_TENANTS: TENANT };
  it.each<[string, Environment, string | undefined]>([
    ['is the user id', { PROVIDERS_IDP_SCIM_TOKEN: TOKEN }, 'provider_user_id'],
    ['is oid of microsoft, also without a directory', MICROSOFT, 'oid'],
    ['is oid of microsoft', { ...MICROSOFT, PROVIDERS_IDP_SCIM_TOKEN: TOKEN }, 'oid'],
    ['is that of the setting, also without a directory', { PROVIDERS_IDP_SCIM_CLAIM: 'number' }, 'number'],
    [
      'is the user id of microsoft, if it is set so',
      { ...MICROSOFT, PROVIDERS_IDP_SCIM_CLAIM: 'provider_user_id' },
      undefined,
    ],
  ])('%s', (_, env, claim) => {
    const { PROVIDERS_IDP_URL: _url, ...credentials } = idp;
    const found = parseSettings({ ...(env.PROVIDERS_IDP_ADAPTER ? credentials : idp), ...env }).providers.get(
      'idp',
    );
    expect(found!.keeps).toEqual(claim && [claim]);
    if (found!.scim) expect(found!.scim.claim).toBe(claim);
  });
});

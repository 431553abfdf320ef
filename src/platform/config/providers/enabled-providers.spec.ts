import { generateKeyPairSync } from 'node:crypto';
import { parseSettings } from '../settings/parse-settings.js';
import type { Environment } from '../settings/setting-row.js';

const idp = {
  PROVIDERS_IDP_URL: 'https://idp.example/base/',
  PROVIDERS_IDP_CLIENT_ID: 'web',
  PROVIDERS_IDP_CLIENT_SECRET: 's3cret',
};
const parsed = {
  name: 'idp',
  adapter: 'contract',
  isDefaultAdapter: true,
  url: 'https://idp.example/base',
  clientId: 'web',
  clientSecret: 's3cret',
  variables: { adapter: 'PROVIDERS_IDP_ADAPTER', issuer: 'PROVIDERS_IDP_ISSUER' },
  options: {},
};
const dotted = (name: string) => ({
  adapter: `providers.${name}.adapter`,
  issuer: `providers.${name}.issuer`,
});
const oauth2 = {
  'providers.idp.adapter': 'oauth2',
  'providers.idp.authorize_url': 'https://idp.example/authorize?prompt=login',
  'providers.idp.token_url': 'https://idp.example/token',
  'providers.idp.userinfo_url': 'https://idp.example/me',
  'providers.idp.client_id': 'web',
  'providers.idp.client_secret': 's3cret of more than sixteen',
};
const KEY = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
  type: 'pkcs8',
  format: 'pem',
}) as string;
const secretKey = { SECRET_KEY: 'ab'.repeat(32) };

const names = (env: Environment): readonly string[] => [...parseSettings(env).providers.keys()];

describe('both spellings', () => {
  it('PROVIDERS_<NAME>_<KEY>', () => expect(parseSettings(idp).providers.get('idp')).toEqual(parsed));

  it('providers.<name>.<key>, with names of more characters', () => {
    const { providers } = parseSettings({
      'providers.my-idp_2.url': 'https://idp.example/base',
      'providers.my-idp_2.client_id': 'web',
      'providers.my-idp_2.client_secret': 's3cret',
    });
    expect(providers.get('my-idp_2')).toEqual({
      ...parsed,
      name: 'my-idp_2',
      variables: dotted('my-idp_2'),
    });
  });

  it('takes a URL with an @ in its path, which is no user info', () => {
    const env = { ...idp, PROVIDERS_IDP_URL: 'https://idp.example/@one/' };
    expect(parseSettings(env).providers.get('idp')).toMatchObject({ url: 'https://idp.example/@one' });
  });

  it('mixed, and twice the same', () => {
    const mixed = {
      ...idp,
      'providers.idp.client_id': 'web',
      'providers.idp.redirect_uris': 'https://app.example/cb',
    };
    expect(parseSettings(mixed).providers.get('idp')).toEqual({
      ...parsed,
      redirectUris: ['https://app.example/cb'],
      variables: dotted('idp'),
    });
  });

  it('hands every other key to the adapter', () => {
    const { options } = parseSettings({
      ...idp,
      'providers.idp.adapter': 'oidc',
      PROVIDERS_IDP_CLAIM_USER_ID: 'a.b',
      'providers.idp.scope': 'x y',
    }).providers.get('idp')!;
    expect(options).toEqual({ claim_user_id: 'a.b', scope: 'x y' });
  });
});

describe('enabled', () => {
  it('once url is set', () => expect(names(idp)).toEqual(['idp']));
  it('unless it says no', () => expect(names({ ...idp, PROVIDERS_IDP_ENABLED: 'false' })).toEqual([]));
});

describe('adapters', () => {
  const credentials = {
    'providers.idp.client_id': 'web',
    'providers.idp.client_secret': 's3cret of more than sixteen',
  };
  const idpOf = (env: Environment, cwd?: string) =>
    parseSettings(env, cwd === undefined ? {} : { cwd }).providers.get('idp');

  it('oauth2 has its URLs as options, and is on without a url', () => {
    expect(idpOf(oauth2)).toEqual({
      name: 'idp',
      adapter: 'oauth2',
      clientId: 'web',
      clientSecret: 's3cret of more than sixteen',
      variables: dotted('idp'),
      options: {
        authorize_url: 'https://idp.example/authorize?prompt=login',
        token_url: 'https://idp.example/token',
        userinfo_url: 'https://idp.example/me',
      },
    });
  });

  // warnings.spec.ts: a provider that lacks settings is off.
  it('a preset needs nothing but credentials; the issuer is set or absent (RFC 9207)', () => {
    const github = { ...credentials, 'providers.idp.adapter': 'github' };
    expect(idpOf(github)).toMatchObject({ adapter: 'github', options: {} });
    expect(idpOf(github)?.issuer).toBeUndefined();
    const set = idpOf({ ...github, PROVIDERS_IDP_ISSUER: 'https://idp.example/' });
    expect(set).toMatchObject({ issuer: 'https://idp.example/', options: {} });
  });

  it.each<[string, Record<string, string>, object]>([
    [
      'a key',
      { client_key: KEY },
      { clientKey: KEY.trimEnd(), options: { token_endpoint_auth_method: 'private_key_jwt' } },
    ],
    ['a key on one line', { client_key: KEY.replaceAll('\n', String.raw`\n`) }, { clientSecret: '' }],
    ['nothing', { token_endpoint_auth_method: 'none' }, { clientSecret: '' }],
  ])(
    'of oidc and oauth2 may authenticate with %s instead of a secret, also in production',
    (_name, keys, expected) => {
      const all = { adapter: 'oidc', url: 'https://idp.example', client_id: 'web', ...keys };
      const own = Object.fromEntries(
        Object.entries(all).map(([key, text]) => [`providers.idp.${key}`, text]),
      );
      const production = {
        ...secretKey,
        NODE_ENV: 'production',
        DATA_DIR: '/srv/data',
        TRUST_PROXY: 'false',
      };
      expect(idpOf({ ...production, REDIRECT_URIS: 'https://app.example/cb', ...own })).toMatchObject(
        expected,
      );
    },
  );

  it('may be a file, relative to the working directory, or a package; neither needs a url', () => {
    const file = { ...credentials, 'providers.idp.adapter': './adapters/corp.js' };
    expect(idpOf(file, '/srv')?.adapter).toBe('/srv/adapters/corp.js');
    expect(idpOf({ ...credentials, 'providers.idp.adapter': '/srv/corp.js' })?.adapter).toBe('/srv/corp.js');
    expect(idpOf({ ...credentials, 'providers.idp.adapter': '@corp/adapter' })?.adapter).toBe(
      '@corp/adapter',
    );
  });

  it('have https: URLs in production, unless the host is loopback', () => {
    const env = (tokenUrl: string): Environment => ({
      ...secretKey,
      ...oauth2,
      NODE_ENV: 'production',
      DATA_DIR: '/srv/data',
      REDIRECT_URIS: 'https://app.example/cb',
      TRUST_PROXY: 'false',
      'providers.idp.token_url': tokenUrl,
    });
    expect(() => parseSettings(env('http://idp.example/token'))).toThrow(
      'providers.idp.token_url is not secure. Use https:// in production',
    );
    expect(idpOf(env('http://127.0.0.1:8080/token'))).toBeDefined();
  });

  it.each([
    ['oidc', 'https://idp:8443/r', 'https://sso.example/r', undefined],
    ['keycloak', 'http://127.0.0.1:8080/r', 'https://sso.example/r', undefined],
    ['keycloak', 'http://idp:8080/r', 'https://sso.example/r', 'providers.idp.url is not secure'],
    ['oidc', 'https://idp:8443/r', 'http://sso.example/r', 'providers.idp.issuer is not secure'],
    ['contract', 'https://idp:8443/r', 'http://sso.example/r', undefined], // an opaque name
  ])('%s at %s with the issuer %s in production: %s', (adapter, url, issuer, expected) => {
    const production = { NODE_ENV: 'production', DATA_DIR: '/srv/data', TRUST_PROXY: 'false' };
    const keys = {
      'providers.idp.adapter': adapter,
      'providers.idp.url': url,
      'providers.idp.issuer': issuer,
    };
    const env = {
      ...secretKey,
      ...credentials,
      ...production,
      REDIRECT_URIS: 'https://app.example/cb',
      ...keys,
    };
    if (expected === undefined) expect(idpOf(env)).toMatchObject({ url, issuer });
    else expect(() => parseSettings(env)).toThrow(expected);
  });
});

describe('errors', () => {
  const OF_OTHER_ADAPTERS: readonly [key: string, text: string, adapter: string, others: Environment][] = [
    ['scope', 'openid', 'contract', idp],
    ['response_mode', 'form_post', 'oauth2', oauth2],
    ['userinfo_url', 'https://idp.example/me', 'oidc', { ...idp, 'providers.idp.adapter': 'oidc' }],
  ];
  it.each<[string, Environment, string]>([
    [
      'no url',
      { ...idp, PROVIDERS_IDP_URL: '', PROVIDERS_IDP_ENABLED: 'true' },
      'PROVIDERS_IDP_URL is not set',
    ],
    [
      'user info in url',
      { ...idp, PROVIDERS_IDP_URL: 'https://a@idp.example' },
      'PROVIDERS_IDP_URL is invalid',
    ],
    [
      'an adapter that is neither a name nor a file',
      { ...idp, PROVIDERS_IDP_ADAPTER: 'My Adapter' },
      'PROVIDERS_IDP_ADAPTER is invalid. Use contract, oidc, oauth2, github, discord, google, microsoft',
    ],
    [
      'a URL of OAuth 2.0 left out',
      { ...oauth2, 'providers.idp.token_url': '' },
      'providers.idp.token_url is not set. Use a value, because idp is enabled',
    ],
    [
      'an invalid URL of OAuth 2.0',
      { ...oauth2, 'providers.idp.userinfo_url': 'javascript:x' },
      'providers.idp.userinfo_url is invalid. Use an absolute http:// or https:// URL',
    ],
    [
      'an unknown way to authenticate',
      { ...oauth2, 'providers.idp.token_endpoint_auth_method': 'client_secret_jwt' },
      'providers.idp.token_endpoint_auth_method is invalid. Use client_secret_basic, client_secret_post, private_key_jwt, or none. Value: "client_secret_jwt"',
    ],
    [
      'an assertion without a key',
      { ...oauth2, 'providers.idp.token_endpoint_auth_method': 'private_key_jwt' },
      'providers.idp.client_key is not set. Use a value, because idp is enabled',
    ],
    [
      'a key that is none, which is a secret',
      { ...oauth2, 'providers.idp.client_key': '-----BEGIN PRIVATE KEY-----' },
      'providers.idp.client_key is invalid. Use a private key without password, in PEM or as a JWK: RSA of at least 2048 bits, EC P-256, P-384 or P-521, or Ed25519. Value: not shown (secret).',
    ],
    ...[
      {},
      { 'providers.ms.url': 'https://login.microsoftonline.com/common/v2.0' },
      { 'providers.ms.url': 'https://login.microsoftonline.com/organizations/v2.0' },
    ].map((keys): [string, Environment, string] => [
      `microsoft for any tenant: ${JSON.stringify(keys)}`,
      {
        'providers.ms.adapter': 'microsoft',
        'providers.ms.client_id': 'a',
        'providers.ms.client_secret': 's',
        ...keys,
      },
      'providers.ms.tenants is not set. Use the ids of the tenants with users that may sign in',
    ]),
    [
      'microsoft with a tenant that is no id',
      {
        'providers.ms.adapter': 'microsoft',
        'providers.ms.client_id': 'a',
        'providers.ms.client_secret': 's',
        'providers.ms.tenants': 'corp.example',
      },
      'providers.ms.tenants is invalid. Use a comma-separated list of tenant ids',
    ],
    [
      'apple with a key that has no id',
      {
        'providers.a.adapter': 'apple',
        'providers.a.client_id': 'com.example.web',
        'providers.a.team_id': 'ABCDE12345',
        'providers.a.client_key': KEY,
      },
      'providers.a.client_key_id is not set. Use the id of the key at Apple',
    ],
    [
      'okta without its address',
      {
        'providers.o.adapter': 'okta',
        'providers.o.client_id': 'a',
        'providers.o.client_secret': 's',
        'providers.o.enabled': 'true',
      },
      'providers.o.url is not set',
    ],
    [
      'a password without a user',
      { ...idp, PROVIDERS_IDP_ISSUER: 'https://:s3cret@idp.example' },
      'Value: "https://***@idp.example"',
    ],
    [
      'mode',
      { ...idp, PROVIDERS_IDP_MODE: 'window' },
      'PROVIDERS_IDP_MODE is invalid. Use iframe, popup, or redirect. Value: "window"',
    ],
    [
      'pkce of the contract',
      { ...idp, PROVIDERS_IDP_PKCE: 'true' },
      'PROVIDERS_IDP_PKCE is invalid. Use on or off. Value: "true"',
    ],
    ...[
      ['adaptor', 'oidc', 'contract (did you mean adapter?)'],
      ['redirect_uri', 'https://app.example/cb', 'contract (did you mean redirect_uris?)'],
      ['departement', 'hunter2', 'contract'],
      ['accounts', 'a.json', 'contract'],
    ].map(([key, text, problem]): [string, Environment, string] => [
      `the unknown key ${key}`,
      { ...idp, [`providers.idp.${key}`]: text },
      `providers.idp.${key} is not a setting of the adapter ${problem}. Use a key of docs/settings.md, or remove it.`,
    ]),
    ...OF_OTHER_ADAPTERS.map(([key, text, adapter, others]): [string, Environment, string] => [
      `the key ${key} of other adapters`,
      { ...others, [`providers.idp.${key}`]: text },
      `providers.idp.${key} is not a setting of the adapter ${adapter}. Use providers.idp.adapter with an adapter that has it, or remove it.`,
    ]),
    ...['scope=x', 'state', 'a=1&a=2', '?a=1', 'a=b c', '=1', 'redirect_uri=https://x.example', 'a=\n'].map(
      (text): [string, Environment, string] => [
        `authorize_params ${text}`,
        { ...oauth2, 'providers.idp.authorize_params': text },
        'providers.idp.authorize_params is invalid. Use a query string',
      ],
    ),
    ...['scope', 'a b', 'request_uri,prompt', ','].map((text): [string, Environment, string] => [
      `allowed_params ${text}`,
      { ...oauth2, 'providers.idp.allowed_params': text },
      'providers.idp.allowed_params is invalid. Use a comma-separated list of names',
    ]),
    ...['roles', 'roles=', 'sub=id', 'a=b,a=c', '=x', `${'x'.repeat(65)}=y`, ','].map(
      (text): [string, Environment, string] => [
        `claims ${text}`,
        { ...idp, PROVIDERS_IDP_CLAIMS: text },
        'PROVIDERS_IDP_CLAIMS is invalid. Use <name>=<path> pairs',
      ],
    ),
    ['enabled', { ...idp, PROVIDERS_IDP_ENABLED: 'yes' }, 'PROVIDERS_IDP_ENABLED is invalid'],
    [
      'conflict',
      { ...idp, 'providers.idp.client_id': 'other' },
      'PROVIDERS_IDP_CLIENT_ID and providers.idp.client_id have different values',
    ],
    ['name', { 'providers.Idp.url': 'https://idp.example' }, 'providers.Idp.url is not the name'],
    ['no key', { 'providers.idp': 'x' }, 'providers.idp is not the name'],
  ])('%s', (_, env, line) => {
    expect(() => parseSettings(env)).toThrow(
      expect.objectContaining({ name: 'InvalidSettings', errors: [expect.stringContaining(line)] }),
    );
  });

  it('are all reported at once, even if the credentials are missing', () => {
    const env = {
      PROVIDERS_IDP_URL: 'http://idp.example',
      PROVIDERS_IDP_MODE: 'window',
      NODE_ENV: 'production',
    };
    expect(() => parseSettings(env)).toThrow(
      expect.objectContaining({
        errors: expect.arrayContaining(
          ['URL', 'MODE', 'CLIENT_ID', 'CLIENT_SECRET'].map((key) =>
            expect.stringMatching(`^PROVIDERS_IDP_${key} `),
          ),
        ),
      }),
    );
  });

  it('leaves alone what container platforms set for a service of that name', () => {
    expect(names({ PROVIDERS_PORT: 'tcp://10.0.0.1:80', PROVIDERS_SERVICE_HOST: '10.0.0.1' })).toEqual([]);
  });
});

it('takes what applications are told of it, and hands that to no adapter', () => {
  const env = { ...idp, PROVIDERS_IDP_MODE: 'popup', 'providers.idp.label': 'Corp login' };
  const label = 'Corp login';
  expect(parseSettings(env).providers.get('idp')).toEqual({
    ...parsed,
    mode: 'popup',
    label,
    variables: dotted('idp'),
  });
});

describe('claims of a provider', () => {
  const corp = {
    'providers.corp.url': 'https://id.example',
    'providers.corp.client_id': 'c',
    'providers.corp.client_secret': 's',
  };
  const of = (more: Record<string, string>) => {
    const keys = Object.entries(more).map(([key, value]) => [`providers.corp.${key}`, value]);
    return () =>
      parseSettings({ ...corp, 'providers.corp.adapter': 'oidc', ...(Object.fromEntries(keys) as object) });
  };

  it.each<[Record<string, string>, RegExp]>([
    [{ claim_user_id: 'a,b' }, /claim_user_id is invalid.*without the first claim could choose the id/s],
    [{ claim_user_id: 'sub, oid' }, /claim_user_id/],
    [{ claim_user_id: '{a},{b}' }, /claim_user_id/],
    [{ claim_user_id: '{org}{id}' }, /claim_user_id is invalid/],
    [{ claims: 'roles=a\\' }, /claims is invalid/],
    [{ map_groups: '1=a' }, /map_groups is about a claim that is not kept.*claims with groups=<path>/s],
    [{ claims: 'groups=g', map_group: '1=a' }, /did you mean map_groups/],
    [{ claims: 'groups=g', map_groups: '1' }, /map_groups is invalid/],
    [{ claims: 'groups=g', map_groups: '*' }, /map_groups is invalid/],
    [{ claims: 'groups=g', map_groups: '*,1=a' }, /map_groups is invalid/],
    [{ claims: 'groups=g', map_groups: '1=a,1=b' }, /map_groups is invalid/],
    [{ claims: 'groups=g', map_groups: '100%=a' }, /map_groups is invalid/],
    [{ claims: 'groups=g', map_groups: '1=a=b' }, /map_groups is invalid/],
  ])('are refused: %j', (keys, message) => expect(of(keys)).toThrow(message));

  it.each<[Record<string, string>]>([
    [{ claim_user_id: 'https://x\\,y.example/id' }],
    [{ claim_user_id: '{org}::{id}' }],
    [{ claims: 'roles=resource_access.my\\.app.roles,groups=g[]', map_roles: '1=a,*', map_groups: '%2C=x' }],
  ])('are read: %j', (keys) => expect(of(keys)).not.toThrow());
});

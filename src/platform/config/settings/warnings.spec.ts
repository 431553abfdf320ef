import { parseSettings } from './parse-settings.js';
import type { Environment } from './setting-row.js';
import { settingsTable } from './settings-table.js';

const QUIET = { SECRET_KEY: 'ab'.repeat(32), REDIRECT_URIS: 'https://app.example/cb' };
const warningsOf = (env: Environment): readonly string[] => parseSettings({ ...QUIET, ...env }).warnings;

const idp = (keys: Record<string, string>): Environment =>
  Object.fromEntries(Object.entries(keys).map(([key, value]) => [`providers.idp.${key}`, value]));
const credentials = { client_id: 'web', client_secret: 's3cret' };

describe('a provider with neither pkce nor nonce (RFC 9700 §4.5)', () => {
  const both = { ...credentials, pkce: 'off', nonce: 'off' };
  it.each([
    ['of OpenID Connect', idp({ adapter: 'oidc', url: 'https://idp.example', ...both }), 1],
    ['that has nonce', idp({ adapter: 'google', ...both, nonce: 'on' }), 0],
    ['that has pkce', idp({ adapter: 'google', ...credentials, nonce: 'off' }), 0],
    ['that is off', idp({ adapter: 'google', ...both, enabled: 'false' }), 0],
    ['of the contract', idp({ url: 'https://idp.example', ...credentials, pkce: 'off' }), 0],
  ])('%s', (_what, env, lines) => {
    const found = warningsOf(env).filter((line) => /pkce/.test(line));
    expect(found).toHaveLength(lines);
    if (lines > 0)
      expect(found[0]).toMatch(/^Provider idp has .*providers\.idp\.pkce or providers\.idp\.nonce to on/);
  });
});

describe('a variable that resembles a setting', () => {
  it.each([
    ['CORS_ORIGIN', 'CORS_ORIGINS'],
    ['REDIRCT_URIS', 'REDIRECT_URIS'],
    ['REDIRECT_URIS_FILE', 'REDIRECT_URIS'],
    ['DATABSAE_URL', 'DATABASE_URL'],
    ['provider.idp.url', 'providers.<name>.<key>'],
    ['PROVIDER_IDP_CLIENT_SECRET_FILE', 'providers.<name>.<key>'],
    ['PROVIDERS_my-idp_CLIENT_ID', 'providers.<name>.<key>'],
    ['PROVIDERS_MY_IDP_CLIENT_SECRET', 'providers.<name>.<key>, because the name has an underscore'],
  ])('%s causes one warning, without its value', (variable, meant) => {
    const warnings = warningsOf({ [variable]: 'hunter2' });
    expect(warnings).toEqual([`${variable} is not a setting of the service: perhaps ${meant} is meant.`]);
  });

  it.each<[string, Environment]>([
    ['redirect_uri', idp({ adapter: './a.js', ...credentials, redirect_uri: 'hunter2' })],
    ['client_id_file', idp({ adapter: './a.js', ...credentials, client_id_file: 'hunter2' })],
    ['claim_user', idp({ adapter: 'google', ...credentials, enabled: 'false', claim_userid: 'hunter2' })],
  ])('the key %s of a provider that is off or has a custom adapter, too', (key, env) => {
    const warnings = warningsOf(env);
    expect(warnings).toEqual([
      expect.stringMatching(`^providers\\.idp\\.${key}.* is not a setting of the service: perhaps the key `),
    ]);
    expect(warnings.join()).not.toContain('hunter2');
  });

  // Of shells, containers, platforms, databases, build tools and other programs.
  const OTHERS =
    'PATH HOME HOSTNAME HOST_NAME USER PORTS HOSTS TZ _ NODE_OPTIONS NODE_NAME npm_config_cache HTTP_PROXY NO_PROXY ' +
    'SSL_CERT_FILE POSTGRES_URL PGHOST DATABASE_HOST DATABASE_NAME DATABASE_PASSWORD DB_URL REDIS_HOST REDIS_TLS_URL ' +
    'LATCHKEY_PORT LATCHKEY_PORT_3000_TCP_ADDR PROVIDERS_PORT PROVIDERS_SERVICE_HOST PROVIDERS_PORT_80_TCP ' +
    'PROVIDER_URL PROVIDER_API_URL AWS_SECRET_ACCESS_KEY SECRET_KEY_BASE SECRET APP_KEY SESSION_SECRET API_KEY BASE_URL ' +
    'PUBLIC_DIR PUBLIC_PATH DATA_PATH XDG_DATA_DIRS LOG_FILE RATE_LIMIT_MAX ACCESS_TOKEN REFRESH_TOKEN TOKEN_TTL ' +
    'OTEL_SERVICE_NAME OTEL_EXPORTER_OTLP_HEADERS TRUSTED_PROXIES ALLOWED_ORIGINS SERVICE_NAME DEMO MODE LABEL ISSUER';
  it('other names cause none', () => {
    const env = Object.fromEntries(OTHERS.split(' ').map((name) => [name, 'x']));
    expect(warningsOf(env)).toEqual([]);
  });

  it('settings, their files and empty variables cause none', () => {
    const names = Object.values(settingsTable).map(({ name }) => name);
    const env = Object.fromEntries([...names, 'CORS_ORIGIN'].map((name) => [name, '']));
    expect(warningsOf({ ...env, ...QUIET, DATABASE_URL_FILE: 'x', OLD_SECRET_KEY_FILE: 'x' })).toEqual([]);
  });

  it('keys of a provider and of a custom adapter cause none', () => {
    const env = {
      ...idp({ adapter: './a.js', ...credentials, graph_client_id: 'x', department: 'x', scopes: 'x' }),
      PROVIDERS_ACME_URL: 'https://idp.example',
      PROVIDERS_ACME_CLIENT_ID: 'x',
      PROVIDERS_ACME_CLIENT_SECRET: 'x',
      PROVIDERS_ACME_SERVICE_HOST: '10.0.0.1',
    };
    expect(warningsOf(env)).toEqual([]);
  });

  it('is quick with any name, however long', () =>
    expect(warningsOf({ [`CORS_ORIGIN${'S'.repeat(100_000)}`]: 'x' })).toEqual([]));
});

describe('an allow-list of redirect URIs with *', () => {
  it('causes one warning, and is kept as it is', () => {
    const { warnings, redirectUris } = parseSettings({
      ...QUIET,
      REDIRECT_URIS: 'https://*.app.example/cb,https://app.example/*,https://app.example/cb',
    });
    expect(warnings).toEqual([
      'REDIRECT_URIS has an entry with *: entries are compared as they are, so * stands for itself.',
    ]);
    expect(redirectUris).toHaveLength(3);
  });

  it('of a provider, too', () => {
    const keys = { url: 'https://idp.example', ...credentials, redirect_uris: 'https://app.example/*' };
    expect(warningsOf(idp(keys))).toEqual([
      expect.stringMatching(/^providers\.idp\.redirect_uris has an entry with \*/),
    ]);
  });
});

describe('a provider with settings, but not enough of them', () => {
  it.each<[string, Record<string, string>, string]>([
    ['an adapter and a url', { adapter: './a.js', url: 'https://idp.example' }, 'client_id'],
    ['an adapter', { adapter: 'github' }, 'client_id'],
    ['credentials', credentials, 'url'],
  ])('%s', (_name, keys, missing) =>
    expect(warningsOf(idp(keys))).toEqual([`Provider idp has no ${missing}: it is off.`]),
  );

  it('causes no warning when it was switched off', () =>
    expect(warningsOf(idp({ adapter: './a.js', url: 'https://idp.example', enabled: 'false' }))).toEqual([]));
});

it.each([
  ['otlp', true],
  ['none', false],
  ['', true],
])('OTEL_TRACES_EXPORTER=%s beside an endpoint', (exporters, traces) => {
  const env = { OTEL_TRACES_EXPORTER: exporters, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
  expect(parseSettings({ ...QUIET, ...env })).toMatchObject({ traces, warnings: [] });
});

it.each([
  [
    { OTEL_TRACES_EXPORTER: 'otlp,zipkin' },
    'OTEL_TRACES_EXPORTER is not supported. Use otlp, console or none',
  ],
  [
    { OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    'OTEL_EXPORTER_OTLP_PROTOCOL is not supported. Use http/protobuf or http/json',
  ],
])('%j is refused', (env, error) => expect(() => parseSettings({ ...QUIET, ...env })).toThrow(error));

it.each([
  ['127.0.0.1', 0],
  ['localhost', 0],
  ['::', 0],
  ['192.0.2.7', 1],
  ['2001:db8::7', 1],
])('HOST=%s: whether its address, localhost without a PUBLIC_URL, leads there', (HOST, warnings) => {
  const expected = ['PUBLIC_URL is not set. The service presents itself as localhost.'];
  expect(warningsOf({ HOST })).toEqual(expected.slice(0, warnings));
});

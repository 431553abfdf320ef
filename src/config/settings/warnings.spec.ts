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
    ['of a preset', idp({ adapter: 'google', ...both }), 1],
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

describe('a variable that only looks like a setting', () => {
  it.each([
    ['CORS_ORIGIN', 'CORS_ORIGINS'],
    ['cors_origins', 'CORS_ORIGINS'],
    ['CORSORIGINS', 'CORS_ORIGINS'],
    ['CORS-ORIGINS', 'CORS_ORIGINS'],
    ['REDIRECT_URI', 'REDIRECT_URIS'],
    ['REDIRECT_URLS', 'REDIRECT_URIS'],
    ['REDIRCT_URIS', 'REDIRECT_URIS'],
    ['REDIRECT_URIS_FILE', 'REDIRECT_URIS'],
    ['SERVICE_KEY', 'SERVICE_KEYS'],
    ['SERVICE_KEY_FILE', 'SERVICE_KEYS_FILE'],
    ['SECRET_KEYS', 'SECRET_KEY'],
    ['SECRETKEY', 'SECRET_KEY'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['DATABSAE_URL', 'DATABASE_URL'],
    ['RATE_LIMITS', 'RATE_LIMIT'],
    ['RATE_LIMITS_TOKEN', 'RATE_LIMIT_TOKEN'],
    ['RATE_LIMIT_BAD_TOKENS', 'RATE_LIMIT_BAD_TOKEN'],
    ['RATE_LIMIT_AUTHORISE', 'RATE_LIMIT_AUTHORIZE'],
    ['REFRESH_TOKEN_TLT', 'REFRESH_TOKEN_TTL'],
    ['ACCES_TOKEN_TTL', 'ACCESS_TOKEN_TTL'],
    ['LOGLEVEL', 'LOG_LEVEL'],
    ['TRUST_PROXYS', 'TRUST_PROXY'],
    ['OLD_SECRET_KEYS', 'OLD_SECRET_KEY'],
    ['provider.idp.url', 'providers.<name>.<key>'],
    ['PROVIDER_IDP_CLIENT_ID', 'providers.<name>.<key>'],
    ['PROVIDER_IDP_CLIENT_SECRET_FILE', 'providers.<name>.<key>'],
    ['providers_idp_client_secret', 'providers.<name>.<key>'],
    ['PROVIDERS_my-idp_CLIENT_ID', 'providers.<name>.<key>'],
    ['PROVIDERS_MY_IDP_CLIENT_SECRET', 'providers.<name>.<key>, because the name has an underscore'],
  ])('%s is told in one line, without its value', (variable, meant) => {
    const warnings = warningsOf({ [variable]: 'hunter2' });
    expect(warnings).toEqual([`${variable} is not a setting of the service: perhaps ${meant} is meant.`]);
  });

  it.each<[string, Environment]>([
    ['redirect_uri', idp({ url: 'https://idp.example', ...credentials, redirect_uri: 'hunter2' })],
    ['redirect_uri', idp({ adapter: './a.js', ...credentials, redirect_uri: 'hunter2' })],
    ['client_id_file', idp({ url: 'https://idp.example', ...credentials, client_id_file: 'hunter2' })],
    ['scopes', idp({ adapter: 'oidc', url: 'https://idp.example', ...credentials, scopes: 'hunter2' })],
    ['claim_user', idp({ adapter: 'google', ...credentials, claim_userid: 'hunter2' })],
  ])('the key %s of a provider, too', (key, env) => {
    const warnings = warningsOf(env);
    expect(warnings).toEqual([
      expect.stringMatching(`^providers\\.idp\\.${key}.* is not a setting of the service: perhaps the key `),
    ]);
    expect(warnings.join()).not.toContain('hunter2');
  });

  // From shells, containers, platforms, databases, build tools, and other programs in the same environment.
  const OTHERS =
    'PATH HOME HOSTNAME HOST_NAME USER LOGNAME SHELL SHLVL PWD OLDPWD TERM LANG LC_ALL TZ EDITOR DISPLAY _ PORTS HOSTS ' +
    'NODE_OPTIONS NODE_PATH NODE_VERSION NODE_EXTRA_CA_CERTS NODE_DEBUG NODE_NAME NODE_ID YARN_VERSION INIT_CWD ' +
    'npm_config_cache npm_package_name npm_lifecycle_event npm_node_execpath COLOR FORCE_COLOR CI DEBUG ' +
    'HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy ALL_PROXY SSL_CERT_FILE SSL_CERT_DIR ' +
    'POSTGRES_USER POSTGRES_PASSWORD POSTGRES_DB POSTGRES_URL POSTGRES_HOST PGHOST PGUSER PGPASSWORD PGDATABASE PGDATA ' +
    'DATABASE_HOST DATABASE_NAME DATABASE_USER DATABASE_PASSWORD DB_URL HEROKU_POSTGRESQL_COBALT_URL MONGO_URL ' +
    'REDIS_HOST REDIS_PORT REDIS_PASSWORD REDIS_TLS_URL REDISCLOUD_URL REDIS_SERVICE_HOST ' +
    'PORTAINER_URL PORTAINER_TOKEN KUBERNETES_SERVICE_HOST KUBERNETES_PORT_443_TCP LATCHKEY_PORT LATCHKEY_SERVICE_HOST ' +
    'LATCHKEY_PORT_3000_TCP_ADDR PROVIDERS_PORT PROVIDERS_SERVICE_HOST PROVIDERS_SERVICE_PORT PROVIDERS_PORT_80_TCP ' +
    'PROVIDERS_PORT_80_TCP_ADDR PROVIDERS_SERVICE_PORT_HTTP PROVIDER_URL PROVIDER_API_URL PROVIDER_NAME ' +
    'AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN SECRET_KEY_BASE SECRET APP_KEY JWT_SECRET SESSION_SECRET ' +
    'API_KEY API_URL BASE_URL APP_URL PUBLIC_DIR PUBLIC_PATH DATA_PATH XDG_DATA_DIRS XDG_DATA_HOME LOG_FILE ' +
    'LOG_DIR RATE_LIMIT_WINDOW_MS RATE_LIMIT_MAX ACCESS_TOKEN REFRESH_TOKEN ACCESS_TOKEN_SECRET TOKEN_TTL CACHE_TTL ' +
    'OTEL_SERVICE_NAME OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_TRACES_ENDPOINT OTEL_EXPORTER_OTLP_PROTOCOL ' +
    'OTEL_METRICS_EXPORTER PROMETHEUS_PORT METRICS_PATH ' +
    'TRUSTED_PROXIES CORS_ENABLED ALLOWED_ORIGINS SHUTDOWN_TIMEOUT SERVICE_NAME SERVICE_PORT DEMO MODE LABEL ISSUER';
  it('others are left alone', () => {
    const names = OTHERS.split(' ');
    expect(names.length).toBeGreaterThan(100);
    expect(warningsOf(Object.fromEntries(names.map((name) => [name, 'x'])))).toEqual([]);
  });

  it('so are all settings, with their files, and empty variables', () => {
    const names = Object.values(settingsTable).map(({ name }) => name);
    const files = [
      'DATABASE_URL_FILE',
      'SECRET_KEY_FILE',
      'SERVICE_KEYS_FILE',
      'REDIS_URL_FILE',
      'OLD_SECRET_KEY_FILE',
    ];
    const env = Object.fromEntries([...names, 'CORS_ORIGIN'].map((name) => [name, '']));
    expect(
      parseSettings({ ...env, ...QUIET, ...Object.fromEntries(files.map((name) => [name, 'x'])) }).warnings,
    ).toEqual([]);
  });

  it('so are all keys of a provider, and those that only an integrator’s adapter knows', () => {
    const env = {
      ...idp({ adapter: './a.js', ...credentials, graph_client_id: 'x', department: 'x', scopes: 'x' }),
      PROVIDERS_MOCK_ACCOUNTS: '/srv/accounts.json',
      PROVIDERS_MOCK_ISSUER: 'https://idp.example',
      PROVIDERS_MOCK_REDIRECT_URIS: 'https://app.example/cb',
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
    [
      'the addresses of OAuth 2.0',
      { adapter: 'oauth2', token_url: 'https://idp.example/token' },
      'client_id',
    ],
    ['credentials', credentials, 'url'],
    ['a list', { redirect_uris: 'https://app.example/cb' }, 'url'],
  ])('%s', (_name, keys, missing) =>
    expect(warningsOf(idp(keys))).toEqual([`Provider idp has no ${missing}: it is off.`]),
  );

  it('causes no warning when it was switched off', () =>
    expect(warningsOf(idp({ adapter: './a.js', url: 'https://idp.example', enabled: 'false' }))).toEqual([]));
});

describe('exporters of traces', () => {
  const WARNING =
    'OTEL_TRACES_EXPORTER names an exporter that is none of otlp, zipkin, console: it is left out.';
  it.each<[string, boolean, readonly string[]]>([
    ['otlp', true, []],
    ['console, otlp', true, []],
    ['none', false, []],
    ['', true, []],
    ['jaeger', false, [WARNING]],
    ['jaeger,otlp', true, [WARNING]],
  ])('"%s" beside an endpoint', (exporters, traces, warnings) => {
    const env = { OTEL_TRACES_EXPORTER: exporters, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
    expect(parseSettings({ ...QUIET, ...env })).toMatchObject({ traces, warnings });
  });
});

describe('the sampler of traces', () => {
  it.each([
    ['parentbased_traceidratio', 0],
    ['always_off', 0],
    ['', 0],
    ['ratio', 1],
  ])('"%s"', (sampler, warnings) => {
    const { traces, warnings: said } = parseSettings({
      ...QUIET,
      OTEL_TRACES_SAMPLER: sampler,
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
    });
    expect([traces, said]).toEqual([
      true,
      Array(warnings).fill(
        'OTEL_TRACES_SAMPLER is none of always_on, parentbased_always_on, always_off, parentbased_always_off, traceidratio, parentbased_traceidratio: parentbased_always_on is used.',
      ),
    ]);
  });
});

it.each([
  ['127.0.0.1', 0],
  ['localhost', 0],
  ['0.0.0.0', 0],
  ['::', 0],
  ['::1', 0],
  ['192.0.2.7', 1],
  ['2001:db8::7', 1],
])('HOST=%s: whether its address, localhost without a PUBLIC_URL, leads there', (HOST, warnings) => {
  const told = ['PUBLIC_URL is unset: the service presents itself as localhost.'];
  expect(warningsOf({ HOST })).toEqual(told.slice(0, warnings));
});

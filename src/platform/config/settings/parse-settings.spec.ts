import { readFileSync } from 'node:fs';
import { InvalidSettings } from './invalid-settings.js';
import { parseSettings } from './parse-settings.js';
import { SecretKey } from '../secrets/secret-key.js';
import { settingsTable } from './settings-table.js';
import type { Environment, Setting } from './setting-row.js';
import type { Settings, Values } from './settings.js';

function errorsOf(env: Environment): readonly string[] {
  try {
    parseSettings(env);
    return [];
  } catch (error) {
    if (error instanceof InvalidSettings) return error.errors;
    throw error;
  }
}

const production = {
  NODE_ENV: 'production',
  DATABASE_URL: 'postgres://db.example/latchkey',
  SECRET_KEY: 'ab'.repeat(32),
  REDIRECT_URIS: 'https://app.example/cb',
  PUBLIC_URL: 'https://id.example',
  TRUST_PROXY: '1',
};

const TABLE = Object.entries<Setting<unknown>>(settingsTable);

describe('defaults', () => {
  it('of development', () => {
    const { secretKey, warnings, providers, ownRedirectUris, ...others } = parseSettings({}, { cwd: '/srv' });
    expect(secretKey).toBeInstanceOf(SecretKey);
    const { nodeEnv: _, ...fromTable } = Object.fromEntries(
      TABLE.map(([key, { default: text, parser }]) => [key, text && parser.parse(text)]),
    );
    expect(others).toEqual({
      ...fromTable,
      production: false,
      publicUrl: 'http://localhost:3000',
      dataDir: '/srv/data',
      serviceKeys: [],
      secretFiles: new Map(),
      traces: false,
    });
    expect([...providers.values()].filter(({ isBuiltIn }) => !isBuiltIn)).toEqual([]);
    expect(ownRedirectUris.every(({ uri }) => uri.startsWith('http://localhost:3000/'))).toBe(true);
    expect(warnings).toEqual([expect.stringContaining('REDIRECT_URIS')]);
  });

  it('of production', () => {
    expect(parseSettings(production)).toMatchObject({
      production: true,
      host: '0.0.0.0',
      ownRedirectUris: [],
      rateLimit: true,
      providers: new Map(),
    });
  });
});

const KEY = 'k'.repeat(32);
const WEBHOOK_SECRET = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;
const DATABASE = 'postgresql://u:p@db.example:5432/x?sslmode=require';
const DIRECT = 'postgresql://u:p@direct.example/x';

const LOGO = 'docs/.vitepress/public/key.svg';

/** Variables with a form of their own, and what the settings have for a value. */
const READ: Readonly<Partial<Record<keyof Values, [value: string, settings: Partial<Settings>]>>> = {
  nodeEnv: ['test', { production: false }],
  brandColor: ['#0B5FFF', { brandColor: '#0b5fff' }],
  brandLogoFile: [LOGO, { brandLogoFile: { type: 'image/svg+xml', content: readFileSync(LOGO) } }],
  host: ['::', { host: '::' }],
  sessionIdleTtl: ['1800', { sessionIdleTtl: 1800 }],
  publicUrl: ['https://ID.example:443/', { publicUrl: 'https://id.example' }],
  databaseUrl: [DATABASE, { databaseUrl: DATABASE }],
  databaseDirectUrl: [DIRECT, { databaseDirectUrl: DIRECT }],
  dataDir: ['/var/lib/latchkey', { dataDir: '/var/lib/latchkey' }],
  redisUrl: ['rediss://:p@redis.example', { redisUrl: 'rediss://:p@redis.example' }],
  secretKey: ['AB'.repeat(32), {}],
  serviceKeys: [
    `${KEY}, push:${KEY}2, users:${KEY}==, help.desk-1=support:${KEY}, push=${KEY}=`,
    {
      serviceKeys: [
        { name: 'all-1', key: KEY, rights: ['push', 'read', 'support', 'users'] },
        { name: 'push-2', key: `${KEY}2`, rights: ['push'] },
        { name: 'users-3', key: `${KEY}==`, rights: ['support', 'users'] },
        { name: 'help.desk-1', key: KEY, rights: ['support'] },
        { name: 'push', key: `${KEY}=`, rights: ['push', 'read', 'support', 'users'] },
      ],
    },
  ],
  redirectUris: [
    'https://app.example/cb,com.example.app:/callback',
    { redirectUris: ['https://app.example/cb', 'com.example.app:/callback'] },
  ],
  corsOrigins: ['https://app.example', { corsOrigins: ['https://app.example'] }],
  trustProxy: ['loopback, 10.0.0.0/8', { trustProxy: 'loopback,10.0.0.0/8' }],
  otelExporterOtlpEndpoint: [
    'http://otlp.example:4318',
    { otelExporterOtlpEndpoint: 'http://otlp.example:4318' },
  ],
  webhookUrls: ['https://hooks.example/a', { webhookUrls: ['https://hooks.example/a'] }],
  webhookSecret: [WEBHOOK_SECRET, { webhookSecret: [WEBHOOK_SECRET] }],
  webhookEvents: ['sign_in', { webhookEvents: ['sign_in'] }],
};

/** Returns accepted values, if the parser is a usual one: of a whole number, a choice, text. */
function usualValues({ parser, default: standard }: Setting<unknown>, number: number): string[] {
  const choices = parser.accepts.split(/, (?:or )?| or /);
  return [String(number), ...choices, 'a text'].filter((text) => text !== standard && accepts(parser, text));
}

function accepts({ parse }: Setting<unknown>['parser'], text: string): boolean {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}

it('refuses two service keys with one name, which could not be told apart in the audit trail', () => {
  const [one, other] = [KEY, `${KEY}2`];
  for (const [twice, places] of [
    [`orders=read:${one},x=${KEY}3,orders=push:${other}`, '1 and 3'],
    [`read:${one},read-1=${other}`, '1 and 2'],
  ] as const)
    expect(() => parseSettings({ SERVICE_KEYS: twice })).toThrow(
      `SERVICE_KEYS has one name for different keys: entries ${places}. Use a comma-separated list`,
    );
  const rights = parseSettings({ SERVICE_KEYS: `orders=read:${one},orders=push:${one}` }).serviceKeys;
  expect(rights.map(({ name }) => name)).toEqual(['orders', 'orders']);
});

it('reads every variable', () => {
  const read = TABLE.map(([key, row], i) => {
    const [text, expected] = READ[key as keyof Values] ?? [usualValues(row, i + 1)[0]];
    if (text === undefined) throw new Error(`READ needs a value of the setting ${key}`);
    return [row.name, text, expected ?? { [key]: row.parser.parse(text) }] as const;
  });
  const env = Object.fromEntries(read.map(([name, text]) => [name, text]));
  const settings = parseSettings(env);
  for (const [, , expected] of read) expect(settings).toMatchObject(expected);
  expect(settings).toMatchObject({ traces: true, warnings: [] });
  expect(settings.secretKey.derive('x')).toEqual(new SecretKey(Buffer.alloc(32, 0xab)).derive('x'));
});

it('treats an empty variable as unset', () => {
  const empty = Object.fromEntries(Object.values(settingsTable).map(({ name }) => [name, '']));
  expect(parseSettings(empty)).toEqual({
    ...parseSettings({}),
    secretKey: expect.any(SecretKey),
    providers: expect.any(Map),
  });
});

describe('a line break at the end of a secret', () => {
  it.each([
    ['SECRET_KEY', 'ab'.repeat(32)],
    ['SECRET_KEY', Buffer.alloc(40, 0xfb).toString('base64')],
    ['SERVICE_KEYS', `${'k'.repeat(32)},${'l'.repeat(32)}`],
    ['DATABASE_URL', 'postgres://u:p@db.example/x'],
    ['REDIS_URL', 'redis://:p@redis.example'],
    ['WEBHOOK_SECRET', `whsec_${Buffer.alloc(32, 1).toString('base64')}`],
  ])('of %s is none of its characters', (name, value) => {
    for (const end of ['\n', '\r\n', '\n\n']) {
      expect(errorsOf({ [name]: `${value}${end}` })).toEqual(errorsOf({ [name]: value }));
    }
    expect(errorsOf({ [name]: '\n' })).not.toEqual([]);
  });

  it('of a client secret neither', () => {
    const provider = { 'providers.a.url': 'https://idp.example', 'providers.a.client_id': 'a' };
    const parsed = (secret: string) =>
      parseSettings({ ...provider, 'providers.a.client_secret': secret }).providers.get('a')!.clientSecret;
    expect(parsed('a-client-secret-of-16\r\n')).toBe('a-client-secret-of-16');
  });
});

describe('a value that is not accepted', () => {
  it.each([
    ['NODE_ENV', 'prod'],
    ['PORT', '0'],
    ['PUBLIC_URL', 'https://u@id.example'],
    ['PUBLIC_URL', 'https://id".example'],
    ['PUBLIC_URL', 'https://id.example/base'],
    ['DATABASE_URL', 'mysql://db.example'],
    ['DATABASE_POOLER', 'statement'],
    ['DATABASE_DIRECT_URL', 'direct.example'],
    ['DATA_DIR', '~/data'],
    ['REDIS_URL', 'http://redis.example'],
    ['SECRET_KEY', 'ab'.repeat(31)],
    ['SERVICE_KEYS', 'k'.repeat(31)],
    ['SERVICE_KEYS', `push:read:${'k'.repeat(32)}`],
    ['REDIRECT_URIS', 'javascript:alert(1)'],
    ['CORS_ORIGINS', 'https://app.example/'],
    ['ACCESS_TOKEN_TTL', '0'],
    ['TRUST_PROXY', 'yes'],
    ['RATE_LIMIT', 'true'],
    ['WEBHOOK_PRIVATE', 'constructor'],
    ['METRICS_PORT', 'x'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['LOG_LEVEL', 'verbose'],
  ])('%s=%s', (name, value) => {
    expect(errorsOf({ [name]: value })).toEqual([expect.stringMatching(`^${name} is invalid.* Use .+`)]);
  });

  it('is named together with all others, a line each', () => {
    const errors = errorsOf({
      PORT: 'x',
      LOG_LEVEL: 'loud\nPORT: fine',
      REDIRECT_URIS: 'https://app.example/cb,nothing',
    });
    expect(errors).toEqual([
      'PORT is invalid. Use a whole number from 1 to 65535. Value: "x".',
      expect.stringContaining('REDIRECT_URIS is invalid. Use a comma-separated list'),
      'LOG_LEVEL is invalid. Use fatal, error, warn, info, debug, trace, or silent. Value: "loud\\nPORT: fine".',
    ]);
    expect(new InvalidSettings(errors).message.split('\n')).toHaveLength(4);
  });

  it('is one of METRICS_PORT if it is equal to PORT', () => {
    expect(errorsOf({ METRICS_PORT: '3000' })).toEqual([
      'METRICS_PORT is equal to PORT. Use another port, or none. Value: "3000".',
    ]);
  });

  it('counts as set: no line says that it was unset or compares another setting with its default', () => {
    const env = { DATABASE_POOLER: 'transaction', REDIS_URL: 'x', PORT: 'x', METRICS_PORT: '3000' };
    const errors = errorsOf({ ...env, DATABASE_URL: 'postgres://pooler.example/x' });
    expect(errors.map((error) => error.split(' ')[0])).toEqual(['PORT', 'REDIS_URL']);
    expect(errorsOf({ DATABASE_POOLER: 'transaction', DATABASE_DIRECT_URL: 'x' })).toEqual([
      expect.stringMatching(/^DATABASE_DIRECT_URL /),
    ]);
  });

  // `echo "$secret" | base64` in a Secret of Kubernetes; `base64` breaks lines after 76 characters.
  it.each<[string, string, string]>([
    ['SECRET_KEY', `${'ab'.repeat(20)}\n${'ab'.repeat(20)}`, 'it has a line break inside'],
    ['SECRET_KEY', ` ${'ab'.repeat(32)}`, 'it begins or ends with a blank'],
    ['SERVICE_KEYS', `${'k'.repeat(9)}\r\n${'k'.repeat(9)}`, 'it has a line break inside'],
    ['DATABASE_URL', '"postgres://db.example/x"\n', 'it begins and ends with a quotation mark'],
  ])('%s: the message says what is seen at once', (name, value, problem) => {
    const line = expect.stringMatching(`^${name} is invalid: ${problem}.* Use .+not shown`) as unknown;
    expect(errorsOf({ [name]: value })).toEqual([line]);
  });

  it('never shows a secret', () => {
    const hidden = 'hunter2';
    const errors = errorsOf({
      DATABASE_URL: `mysql://u:${hidden}@db.example`,
      REDIS_URL: `http://:${hidden}@redis.example`,
      SECRET_KEY: hidden,
      SERVICE_KEYS: `${hidden},${'k'.repeat(32)}`,
      PUBLIC_URL: `https://u:${hidden}, /${hidden}@id.example`,
      REDIRECT_URIS: `https://u:${hidden}@app.example/cb`,
      'providers.a.enabled': 'true',
      'providers.a.url': `https://u:${hidden}@idp.example`,
      'providers.a.client_secret': `${hidden}\u0000`,
      'providers.b.client_secret': hidden,
      PROVIDERS_B_CLIENT_SECRET: `${hidden}2`,
    });
    expect(errors.map((error) => error.split(' ')[0])).toEqual([
      'PUBLIC_URL',
      'DATABASE_URL',
      'REDIS_URL',
      'SECRET_KEY',
      'SERVICE_KEYS',
      'REDIRECT_URIS',
      'providers.b.client_secret',
      'providers.a.url',
      'providers.a.client_secret',
      'providers.a.client_id',
    ]);
    expect(errors.join('\n')).not.toContain(hidden);
  });
});

describe('DATABASE_DIRECT_URL', () => {
  const pooled = { DATABASE_URL: 'postgres://pooler.example/x', DATABASE_POOLER: 'transaction' };

  it('is DATABASE_URL unless it was set', () => {
    const { DATABASE_URL } = pooled;
    expect(parseSettings({ DATABASE_URL }).databaseDirectUrl).toBe(DATABASE_URL);
    expect(parseSettings({ DATABASE_URL, DATABASE_DIRECT_URL: DIRECT }).databaseDirectUrl).toBe(DIRECT);
    expect(parseSettings({}).databaseDirectUrl).toBeUndefined();
  });

  it.each<[string, Environment, string[]]>([
    ['needed', pooled, ['DATABASE_POOLER is transaction, without DATABASE_DIRECT_URL']],
    ['not needed beside Redis', { ...pooled, REDIS_URL: 'redis://redis.example' }, []],
    ['accepted', { ...pooled, DATABASE_DIRECT_URL: DIRECT }, []],
    ['refused without DATABASE_URL', { DATABASE_DIRECT_URL: DIRECT }, ['DATABASE_URL is not set']],
  ])('is %s', (_, env, lines) =>
    expect(errorsOf(env)).toEqual(lines.map((line) => expect.stringContaining(line) as string)),
  );
});

describe('production refuses', () => {
  const good = {
    ...production,
    'providers.idp.url': 'https://idp.example',
    'providers.idp.client_id': 'x',
    'providers.idp.client_secret': 's'.repeat(16),
  };

  it.each<[Environment, string]>([
    [{ DATABASE_URL: '' }, 'DATABASE_URL is not set'],
    [{ SECRET_KEY: '' }, 'SECRET_KEY is not set'],
    [{ REDIRECT_URIS: '' }, 'REDIRECT_URIS is not set'],
    [{ TRUST_PROXY: '' }, 'TRUST_PROXY is not set'],
    [{ TRUST_PROXY: 'true' }, 'TRUST_PROXY is true'],
    [{ PUBLIC_URL: 'http://id.example' }, 'PUBLIC_URL is not secure'],
    [{ 'providers.idp.url': 'http://idp.example' }, 'providers.idp.url is not secure'],
    [{ 'providers.idp.client_secret': 's'.repeat(15) }, 'providers.idp.client_secret is too short'],
  ])('%j', (env, line) => expect(errorsOf({ ...good, ...env })).toEqual([expect.stringContaining(line)]));

  it.each<Environment>([
    {},
    { DATABASE_URL: '', DATA_DIR: './data' },
    { TRUST_PROXY: 'false' },
    { TRUST_PROXY: '', RATE_LIMIT: 'off' },
    { PUBLIC_URL: 'http://127.0.0.1:3000' },
    { 'providers.idp.url': 'http://localhost:4000' },
    { 'providers.idp.url': 'http://idp.example', 'providers.idp.enabled': 'false' },
  ])('but not %j', (env) => expect(errorsOf({ ...good, ...env })).toEqual([]));

  it('all at once, when nothing is set', () => {
    const names = errorsOf({ NODE_ENV: 'production' }).map((error) => error.split(' ')[0]);
    expect(names).toEqual(['DATABASE_URL', 'SECRET_KEY', 'REDIRECT_URIS', 'TRUST_PROXY']);
  });
});

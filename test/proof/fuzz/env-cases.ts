import type { Random } from './random.js';
import { mutatedText } from './mutate.js';

/** A variable and its value. What must become of the two says settings-reference.ts. */
export interface EnvCase {
  readonly variable: string;
  readonly value: string;
}

/** In each secret, so that it can be looked for. */
export const MARK = 'hunter2xyzzy';
/** The same in hexadecimal digits, for keys that are written in them. */
export const HEX_MARK = 'facade0ff1ce';

/** Files of secrets, below the directory where the service is started. */
export const FILES: Readonly<Record<string, string>> = {
  'key.txt': `${HEX_MARK}${'5e'.repeat(26)}\n`,
  'short-key.txt': `${MARK}5e5e5e`,
  'database.txt': `postgres://u:${MARK}@db.example/x\r\n`,
  'redis.txt': `redis://:${MARK}@r.example`,
};

const NUMBERS = [
  0,
  1,
  60,
  80,
  3000,
  3600,
  65_535,
  65_536,
  1_000_000,
  1_000_001,
  315_360_000,
  315_360_001,
  2 ** 31,
];
const WHOLE = [
  'ACCESS_TOKEN_TTL',
  'REFRESH_TOKEN_TTL',
  'STATE_TTL',
  'PORT',
  'METRICS_PORT',
  'SHUTDOWN_DELAY',
  'DATABASE_POOL_SIZE',
  'CHANNEL_HISTORY',
  ...['AUTHORIZE', 'TOKEN', 'REFRESH', 'BAD_TOKEN', 'CONNECT', 'WRITE'].map((one) => `RATE_LIMIT_${one}`),
];
const WORDS: Readonly<Record<string, readonly string[]>> = {
  RATE_LIMIT: ['on', 'off'],
  DEMO_ENABLED: ['true', 'false'],
  NODE_ENV: ['production', 'development', 'test'],
  DATABASE_POOLER: ['session', 'transaction'],
  LOG_FORMAT: ['json', 'text'],
  LOG_LEVEL: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
};
const HOSTS = [
  '127.0.0.1',
  '::',
  '::1',
  'localhost',
  'db-1.internal',
  '0.0.0.0',
  '3000',
  'fe80::1%eth0',
  '999.1.1.1',
  '[::1]',
];
const DIRECTORIES = ['./data', '/var/lib/latchkey', '/proc/1/x', '/proc', '.', ' ', '/procure'];
const KEYS = [
  'enabled',
  'url',
  'client_id',
  'client_secret',
  'adapter',
  'redirect_uris',
  'issuer',
  'mode',
  'label',
  'scope',
  'authorize_url',
  'token_url',
  'userinfo_url',
  'token_endpoint_auth_method',
  'accounts',
  'x',
  'constructor',
  '__proto__',
];
const TRUSTED = [
  'loopback',
  'linklocal',
  'uniquelocal',
  '10.0.0.0/8',
  '192.0.2.7',
  '::1',
  '2001:db8::/32',
  '64:ff9b::192.0.2.1/96',
  '::ffff:1.2.3.4/120',
  '::ffff:1.2.3.4',
  '1::1.2.3.4/9',
];
const TRUST = [
  ...TRUSTED,
  'true',
  'false',
  '1',
  '100',
  'all',
  '1.2.3.4/33',
  '::/0',
  'fe80::1%eth0',
  '10.0.0.0/255.0.0.0',
];
const URLS = [
  'https://id.example',
  'https://id.example/',
  'https://ID.example:443/',
  'http://localhost:4000',
  'http://id.example',
  'https://u:***@id.example',
  'ftp://***@x/y?z=@',
  'https://***@[::1',
  'https://id.example/x/',
  'https://id.example/x?y',
  'https://id.example#x',
  'ftp://x',
  'https://',
  'https:/id.example',
  'https://[::1]:8443',
];
const URL_WORDS = ['/', '?', '#', '@', ':', '//', '\\', '://', ':70000', '.', '%2f', '[', ']'];
const LIST = [
  'https://app.example/Cb?A=%2F',
  'http://localhost:1',
  'http://[::1]/x?y',
  'com.example.app:/cb',
  'https://app.example',
  'app://localhost',
  'javascript:1',
  'data:x',
  'https://u@x/',
  'https://a/#',
  '*',
];
const DATABASES = [
  'postgres://u:***@db.example:5432/x?sslmode=require',
  'postgresql://u:***%40%2F@db.example/x',
  'postgres://u:***@[2001:db8::1]:5433/x',
  'postgres://u:***@/x?host=/run/postgresql',
  'postgres://u:***@a.example,b.example/x',
  'postgres://u:***%ff@db.example/x',
  'mysql://u:***@db.example/x',
];
const REDISES = [
  'redis://u:***@r.example:6379/1',
  'rediss://:***@[::1]',
  'rediss+sentinel://u:***@a:1,b/latchkey/2?sentinel_password=***',
  'redis+sentinel://s1.example,[::1]:26380/main?sentinel_username=w&sentinel_password=***%26',
];
const STRAY = [
  'providers',
  'providers.',
  'providers..url',
  'providers.A.url',
  'PROVIDERS_',
  'PROVIDERS__URL',
  'CORS_ORIGIN',
  'providers.x.y.z',
  'DATABSE_URL',
  '__proto__',
  'constructor',
];

/** Values as operators write them, and as they go wrong. */
export function envCases(random: Random): EnvCase[] {
  const some = random.some(1, 8, () => random.pick(MAKERS)(random));
  const kits = [
    ...(random.chance(0.15) ? production(random) : []),
    ...(random.chance(0.25) ? provider(random) : []),
  ];
  // No environment, and no file, holds half a character.
  return [...kits, ...some.flat()].map(({ variable, value }) => ({ variable, value: value.toWellFormed() }));
}

type Maker = (random: Random) => readonly EnvCase[];

const mostly = (random: Random, value: string, words: readonly string[] = ['']): string =>
  random.chance(0.6) ? value : mutatedText(random, value, words);
const marked = (text: string): string => text.replaceAll('***', MARK);

const MAKERS: readonly Maker[] = [
  (random) => [{ variable: random.pick(WHOLE), value: number(random) }],
  (random) => [{ variable: random.pick(WHOLE), value: number(random) }],
  (random) => {
    const [variable, words] = random.pick(Object.entries(WORDS));
    const word = random.pick(words);
    const value = random.chance(0.7)
      ? word
      : random.pick([word.toUpperCase(), ` ${word}`, `${word}\n`, 'yes', '', mutatedText(random, word)]);
    return [{ variable, value }];
  },
  (random) => [{ variable: 'HOST', value: mostly(random, random.pick(HOSTS), ['.', ':', '-', '0x7f']) }],
  (random) => [{ variable: 'DATA_DIR', value: mostly(random, random.pick(DIRECTORIES), ['..', '\0', '/']) }],
  (random) => [{ variable: random.pick(['PUBLIC_URL', 'OTEL_EXPORTER_OTLP_ENDPOINT']), value: url(random) }],
  (random) => [
    {
      variable: 'TRUST_PROXY',
      value: random.chance(0.7)
        ? random
            .some(1, 3, () => random.pick(random.chance(0.8) ? TRUSTED : TRUST))
            .join(random.pick([',', ', ', ',', ' ']))
        : mutatedText(random, random.pick(TRUST), [...TRUST, '::', '/', ':', ',']),
    },
  ],
  (random) => [{ variable: random.pick(['REDIRECT_URIS', 'CORS_ORIGINS']), value: list(random) }],
  (random) => [
    {
      variable: random.pick(['DATABASE_URL', 'DATABASE_DIRECT_URL']),
      value: secret(random, random.pick(DATABASES)),
    },
  ],
  (random) => [{ variable: 'REDIS_URL', value: secret(random, random.pick(REDISES)) }],
  (random) => [
    {
      variable: 'SECRET_KEY',
      value: secret(
        random,
        random.pick([
          `***${'5e'.repeat(20)}`,
          `${HEX_MARK}${'5e'.repeat(26)}`,
          `***${'aB-_'.repeat(9)}=`,
          '***=',
        ]),
      ),
    },
  ],
  (random) => [
    {
      variable: 'SERVICE_KEYS',
      value: secret(
        random,
        random.pick([
          `***${'k'.repeat(32)},push:***${'x'.repeat(random.below(40))}`,
          `users:***${'~'.repeat(20)}=, read:***${'x'.repeat(20)}`,
          'read:short***',
        ]),
      ),
    },
  ],
  (random) => [
    {
      variable: random.pick([
        'SECRET_KEY_FILE',
        'DATABASE_URL_FILE',
        'REDIS_URL_FILE',
        'PROVIDERS_ACME_CLIENT_SECRET_FILE',
      ]),
      value: random.pick([
        ...Object.keys(FILES),
        ...Object.keys(FILES),
        '/proc/self/mem',
        '/',
        '/dev/null',
        'none',
        'a\0b',
        '/proc/none',
      ]),
    },
  ],
  (random) => [providerCase(random)],
  (random) => [providerCase(random)],
  (random) => [{ variable: random.pick(STRAY), value: MARK }],
];

function number(random: Random): string {
  const one = String(random.pick(NUMBERS));
  return random.pick([
    one,
    one,
    one,
    one,
    `${one} `,
    `+${one}`,
    `${one}.0`,
    `0x${one}`,
    `${one}e1`,
    '-1',
    '',
    '٣',
    `0${one}`,
  ]);
}

function url(random: Random): string {
  return marked(mostly(random, random.pick(URLS), URL_WORDS));
}

function list(random: Random): string {
  return mostly(random, random.some(1, 3, () => random.pick(LIST)).join(random.pick([',', ', ', ',,'])), [
    ',',
    ' ',
    '://',
    '@',
    '#',
  ]);
}

/** Sometimes not as it should be; a mark stays, or the value is not secret any more. */
function secret(random: Random, text: string): string {
  const value = marked(text);
  const other = mostly(random, value, ['@', ':', '/', ',', '\n', '%', '#', '%ff', '%zz', '?', '+', '=']);
  return other.includes(MARK) || other.includes(HEX_MARK) ? other : value;
}

/** All that production asks for. */
function production(random: Random): readonly EnvCase[] {
  return [
    { variable: 'NODE_ENV', value: 'production' },
    { variable: 'DATABASE_URL', value: marked(DATABASES[0]!) },
    { variable: 'SECRET_KEY', value: `${HEX_MARK}${'5e'.repeat(26)}` },
    { variable: 'REDIRECT_URIS', value: 'https://app.example/cb' },
    { variable: 'TRUST_PROXY', value: random.pick(['1', 'false', 'loopback']) },
  ];
}

/** All that a provider needs, in one of the two spellings. */
function provider(random: Random): readonly EnvCase[] {
  const adapter = random.pick(['contract', 'oidc', 'oauth2', 'github']);
  const values = {
    adapter,
    client_id: 'latchkey',
    client_secret: random.pick([MARK, `${MARK}-${MARK}`]),
    ...(adapter === 'oauth2'
      ? {
          authorize_url: 'https://id.example/a',
          token_url: random.pick(['https://id.example/t', 'http://id.example/t']),
          userinfo_url: 'http://localhost/u',
        }
      : { url: random.pick(['https://id.example/', 'http://id.example', 'http://127.0.0.1:4000']) }),
  };
  const more = {
    mode: random.pick(['iframe', 'popup', 'redirect']),
    label: 'Acme',
    redirect_uris: 'https://app.example/Own',
    issuer: 'https://id.example/',
    x: 'y',
  };
  const extra = Object.fromEntries(Object.entries(more).filter(() => random.chance(0.2)));
  const [name, isUpper] = [random.pick(['acme', 'mock', 'my-idp', 'a1']), random.chance(0.5)];
  return Object.entries({ ...values, ...extra }).map(([key, value]) => ({
    variable: variableOf(name, key, isUpper),
    value,
  }));
}

function variableOf(name: string, key: string, isUpper: boolean): string {
  return isUpper && !name.includes('-')
    ? `PROVIDERS_${name}_${key}`.toUpperCase()
    : `providers.${name}.${key}`;
}

/** In one of the two spellings. */
function providerCase(random: Random): EnvCase {
  const [name, key] = [random.pick(['acme', 'x', 'mock', 'a1', 'constructor', 'my-idp']), random.pick(KEYS)];
  const values: Readonly<Record<string, () => string>> = {
    enabled: () => random.pick(['true', 'false', 'yes']),
    url: () => url(random),
    issuer: () => url(random),
    authorize_url: () => url(random),
    token_url: () => url(random),
    userinfo_url: () => url(random),
    adapter: () =>
      random.pick([
        'contract',
        'oidc',
        'oauth2',
        'github',
        './x.js',
        '/opt/x.js',
        '@acme/adapter',
        'Bad Name',
      ]),
    mode: () => random.pick(['iframe', 'popup', 'redirect', 'window']),
    redirect_uris: () => list(random),
    token_endpoint_auth_method: () => random.pick(['client_secret_basic', 'none']),
    client_secret: () => secret(random, '******'),
  };
  const value = Object.hasOwn(values, key) ? values[key]!() : mostly(random, 'a text');
  return { variable: variableOf(name, key, random.chance(0.5)), value };
}

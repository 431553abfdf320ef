import type { Random } from './random.js';
import { mutatedText } from './mutate.js';

/** A variable with a value, and what must become of it: a fault that names it, or a member of the settings. */
export interface EnvCase {
  readonly variable: string;
  readonly value: string;
  readonly isSecret?: boolean;
  /** Undefined: nothing is claimed about it alone. */
  readonly expected?: { readonly setting: string; readonly is: unknown } | 'fault' | undefined;
}

const TTLS = {
  ACCESS_TOKEN_TTL: 'accessTokenTtl',
  REFRESH_TOKEN_TTL: 'refreshTokenTtl',
  STATE_TTL: 'stateTtl',
};
const SWITCHES = { RATE_LIMIT: 'rateLimit', DPOP: 'dpop' };
const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];
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
  'x',
  'constructor',
  '__proto__',
];
const TRUST = [
  'true',
  'false',
  '1',
  'loopback',
  '10.0.0.0/8',
  '::1',
  '64:ff9b::192.0.2.1/96',
  '::ffff:1.2.3.4/120',
  '1.2.3.4/33',
  '::/0',
  'fe80::1%eth0',
  '100',
  'all',
  '1::1.2.3.4/9',
];
const URLS = [
  'https://id.example',
  'https://id.example/',
  'http://localhost:4000',
  'https://u:***@id.example',
  'ftp://***@x/y?z=@',
  'https://***@[::1',
  'https://id.example/x?y',
  'ftp://x',
  'https://',
  'https://[::1]:8443',
];

/** Values as operators write them, and as they go wrong. Each secret has the mark in it, so that it can be looked for. */
export function envCase(random: Random, mark: string): EnvCase {
  const [ttl, toggle] = [random.pick(Object.entries(TTLS)), random.pick(Object.entries(SWITCHES))];
  const number = String(random.pick([0, 1, 60, 3600, 315_360_000, 315_360_001, 2 ** 31, 9_999_999_999]));
  const odd = random.pick([
    number,
    `${number} `,
    `+${number}`,
    `${number}.0`,
    `0x${number}`,
    `${number}e1`,
    '-1',
    '',
    '٣',
    `0${number}`,
  ]);
  const isWhole = /^\d{1,10}$/.test(odd) && Number(odd) >= 1 && Number(odd) <= 315_360_000;
  const makers: (() => EnvCase)[] = [
    () => ({
      variable: ttl[0],
      value: odd,
      expected: odd === '' ? undefined : isWhole ? { setting: ttl[1], is: Number(odd) } : 'fault',
    }),
    () => {
      const value = random.pick(['on', 'off', 'ON', 'true', ' on', 'on\n', 'yes']);
      return {
        variable: toggle[0],
        value,
        expected: value === 'on' || value === 'off' ? { setting: toggle[1], is: value === 'on' } : 'fault',
      };
    },
    () => {
      const value = random.chance(0.5) ? random.pick(LEVELS) : mutatedText(random, random.pick(LEVELS));
      return {
        variable: 'LOG_LEVEL',
        value,
        expected:
          value === '' ? undefined : LEVELS.includes(value) ? { setting: 'logLevel', is: value } : 'fault',
      };
    },
    () => ({
      variable: random.pick(['PUBLIC_URL', 'OTEL_EXPORTER_OTLP_ENDPOINT']),
      value: random.pick(URLS).replace('***', mark),
      isSecret: true,
    }),
    () => ({
      variable: 'TRUST_PROXY',
      value: random.chance(0.6)
        ? random.some(1, 3, () => random.pick(TRUST)).join(random.pick([',', ', ', ' ']))
        : mutatedText(random, random.pick(TRUST), TRUST),
    }),
    () => ({
      variable: random.pick(['REDIRECT_URIS', 'CORS_ORIGINS']),
      value: mutatedText(random, 'https://app.example/cb, http://localhost:1, com.example.app:/cb', [
        ',',
        ' ',
        '://',
        '@',
        '#',
      ]),
    }),
    () => ({
      variable: random.pick(['DATABASE_URL', 'DATABASE_DIRECT_URL']),
      value: changed(random, `postgres://u:${mark}@db.example:5432/x?sslmode=require`, mark),
      isSecret: true,
    }),
    () => ({
      variable: 'REDIS_URL',
      value: changed(
        random,
        random.pick([
          `redis://u:${mark}@r.example:6379/1`,
          `rediss+sentinel://u:${mark}@a:1,b/latchkey/2?sentinel_password=${mark}`,
        ]),
        mark,
      ),
      isSecret: true,
    }),
    () => ({
      variable: 'SECRET_KEY',
      value: changed(random, `${mark}${'5e'.repeat(20)}`, mark),
      isSecret: true,
    }),
    () => ({
      variable: 'SERVICE_KEYS',
      value: changed(
        random,
        `${mark}${'k'.repeat(32)},push:${mark}${'x'.repeat(random.below(40))},read:short${mark}`,
        mark,
      ),
      isSecret: true,
    }),
    () => ({
      variable: `${random.pick(['SECRET_KEY', 'DATABASE_URL', 'REDIS_URL', 'PROVIDERS_ACME_CLIENT_SECRET'])}_FILE`,
      value: random.pick(['/proc/self/mem', '/', '/dev/null', 'none', 'a\0b', '/proc/none']),
    }),
    () => ({
      variable: random.pick([
        'HOST',
        'PORT',
        'DATA_DIR',
        'NODE_ENV',
        'DATABASE_POOLER',
        'SHUTDOWN_DELAY',
        'METRICS_PORT',
      ]),
      value: mutatedText(
        random,
        random.pick(['127.0.0.1', '3000', '/proc/1/x', 'production', 'transaction', '::1']),
        ['..', '\0', '/'],
      ),
    }),
    () => providerCase(random, mark),
    () => providerCase(random, mark),
    () => ({
      variable: random.pick([
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
      ]),
      value: mark,
      isSecret: true,
    }),
  ];
  return random.pick(makers)();
}

/** In one of the two spellings; `client_secret` has the mark. */
function providerCase(random: Random, mark: string): EnvCase {
  const [name, key] = [random.pick(['acme', 'x', 'mock', 'a1', 'constructor', 'my-idp']), random.pick(KEYS)];
  const upper = !name.includes('-') && random.chance(0.5);
  const variable = upper ? `PROVIDERS_${name}_${key}`.toUpperCase() : `providers.${name}.${key}`;
  const values: Readonly<Record<string, string>> = {
    enabled: random.pick(['true', 'false', 'yes']),
    url: random.pick(URLS).replace('***', mark),
    adapter: random.pick(['contract', 'oidc', 'oauth2', 'github', './x.js', 'Bad Name']),
    mode: random.pick(['iframe', 'popup', 'window']),
    redirect_uris: 'https://a.example/cb',
  };
  const isSecret = key === 'client_secret';
  return {
    variable,
    value: isSecret
      ? changed(random, mark.repeat(2), mark)
      : Object.hasOwn(values, key)
        ? values[key]!
        : mutatedText(random, 'a text'),
    isSecret,
  };
}

/** Sometimes not as it should be; the mark stays, or the value is not secret any more. */
function changed(random: Random, value: string, mark: string): string {
  if (random.chance(0.4)) return value;
  const other = mutatedText(random, value, ['@', ':', '/', ',', '\n', '%', '#']);
  return other.includes(mark) ? other : value;
}

import { resolve } from 'node:path';
import { addressByTheBook, networkByTheBook, type Network } from './addresses-reference.js';
import { isStrict, open, sure, sureIf, urlOf, type Reader } from './reading.js';
import { partsOf } from './redirect-reference.js';
import { databaseUrl, redisUrl } from './stores-reference.js';

/**
 * What `TRUST_PROXY` trusts: addresses are compared one by one, and not how they are written. Undefined where that is Express's own to
 * say: of `::1.2.3.4` (RFC 4291 §2.5.5.1, deprecated) it makes `::ffff:1.2.3.4`.
 */
export class Trusted {
  constructor(readonly networks: readonly Network[] | undefined) {}
}

/** The bytes of a `SECRET_KEY`. */
export class KeyBytes {
  constructor(readonly bytes: Buffer) {}
}

const word =
  (words: Readonly<Record<string, unknown>>): Reader =>
  (text) =>
    Object.hasOwn(words, text) ? sure(words[text]) : undefined;
const oneOf = (...words: readonly string[]): Reader =>
  word(Object.fromEntries(words.map((one) => [one, one])));
const onOff = word({ on: true, off: false });
export const trueFalse = word({ true: true, false: false });
export const modes = oneOf('iframe', 'popup', 'redirect');
export const authMethods = oneOf('client_secret_basic', 'client_secret_post');

function whole(least: number, most: number): Reader {
  return (text) => {
    if (!/^[0-9]+$/.test(text)) return undefined;
    const number = BigInt(text);
    return number < least || number > most ? undefined : sureIf(text === String(number), Number(number));
  };
}

/** One line with something on it. */
export const line: Reader = (text) =>
  // oxlint-disable-next-line no-control-regex -- what is no line
  /^\s*$/.test(text) || /[\u0000-\u001f\u007f]/.test(text) ? undefined : sure(text);

/** A host name of RFC 1123 §2.1, or an address, which a URL can hold. */
const host: Reader = (text) => {
  const isIpv6 = text.includes(':');
  if (isIpv6) return addressByTheBook(text) === undefined ? undefined : sure(text);
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(text) || text.length > 253 || !urlOf(`http://${text}`))
    return undefined;
  const isName =
    /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)*[A-Za-z](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;
  return sureIf(isName.test(text) || addressByTheBook(text) !== undefined, text);
};

const directory: Reader = (text, cwd) => {
  const path = resolve(cwd, text);
  return path === '/proc' || path.startsWith('/proc/') || !line(text, cwd) ? undefined : sure(path);
};

/** An http(s) URL with a host, and without user info and fragment. */
function httpUrl(text: string): { url: URL; rest: string; isStrict: boolean } | undefined {
  const parts = partsOf(text);
  const url = urlOf(text);
  if (!parts || !url || !/^https?$/i.test(parts.scheme) || parts.host === '') return undefined;
  if (parts.userInfo !== undefined || parts.hasFragment) return undefined;
  // A browser finds more than is written where a backslash is a slash: that may not pass, whatever else it says.
  if (url.username !== '' || url.password !== '' || text.includes('\\')) return undefined;
  const isPlain = /^(?:[A-Za-z0-9.-]+|\[.+\])$/.test(parts.host) && parts.port !== '';
  return { url, rest: parts.rest, isStrict: isStrict(text) && isPlain };
}

/** `PUBLIC_URL`: an origin. */
const origin: Reader = (text) => {
  const found = httpUrl(text);
  return found && ['', '/'].includes(found.rest) ? sureIf(found.isStrict, found.url.origin) : undefined;
};

/** A provider's `url`: no query; one slash at its end does not count. An `@` in its path may be of a password with a slash. */
export const baseUrl: Reader = (text) => {
  const found = httpUrl(text);
  return found && !found.rest.includes('?')
    ? sureIf(found.isStrict && !found.rest.includes('@'), found.url.href.replace(/\/$/, ''))
    : undefined;
};

/** Kept as it is. */
export const endpoint: Reader = (text) => {
  const found = httpUrl(text);
  return found && sureIf(found.isStrict, text);
};

/** Whether it is http, and not of this machine alone. */
export function isInsecure(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return (
    protocol === 'http:' && !/^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|\[::ffff:7f[^\]]*\])$/.test(hostname)
  );
}

const trusted: Reader = (text) => {
  if (text === 'true' || text === 'false') return sure(text === 'true');
  if (/^[0-9]+$/.test(text)) return Number(text) > 99 ? undefined : sureIf(text.length < 3, Number(text));
  const networks = text.split(',').flatMap((entry): readonly (Network | undefined)[] => {
    const name = entry.trim();
    return Object.hasOwn(RANGES, name) ? RANGES[name]!.map(networkByTheBook) : [networkByTheBook(name)];
  });
  return networks.includes(undefined)
    ? undefined
    : sureIf(
        !/\/0/.test(text),
        new Trusted(/(?:^|[, ])[0:]*:\d+\./.test(text) ? undefined : (networks as Network[])),
      );
};

// Express's own words (https://expressjs.com/en/guide/behind-proxies.html)
const RANGES: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.1/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

/** Each entry by itself, without the blanks around it. */
function list(entry: Reader): Reader {
  return (text, cwd) => {
    const entries = text.split(',').map((one) => one.trim());
    const read = entries.filter((one) => one !== '').map((one) => entry(one, cwd));
    if (read.length === 0 || read.includes(undefined)) return undefined;
    return sureIf(
      read.every((one) => !one!.isOpen),
      read.map((one) => one!.is),
    );
  };
}

/** Kept as it is: an http(s) URL, or a URI with a scheme of RFC 8252 §7.1 (a name of a domain turned round, so with a dot). */
const redirectUri: Reader = (text) => {
  if (!/^[A-Za-z0-9\-._~:/?[\]@!$&'()*+,;=%]+$/.test(text)) return undefined;
  const scheme = /^[a-z][a-z0-9+.-]*(?=:)/i.exec(text)?.[0] ?? '';
  if (/^https?$/i.test(scheme)) return endpoint(text, '');
  const authority = partsOf(text);
  if (!scheme.includes('.') || !urlOf(text) || authority?.userInfo !== undefined) return undefined;
  const isName = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+$/.test(scheme);
  return sureIf(isName && text.startsWith(`${scheme}:/`) && isStrict(text), text);
};
export const redirectUris = list(redirectUri);

/** As a browser sends it (RFC 6454 §6.1). */
const corsOrigin: Reader = (text) => {
  const parts = partsOf(text);
  if (!parts || parts.hasFragment || parts.userInfo !== undefined || parts.rest !== '') return undefined;
  if (parts.host === '' || /[*\s\\]/.test(text) || parts.scheme !== parts.scheme.toLowerCase())
    return undefined;
  const url = urlOf(text);
  if (/^https?$/.test(parts.scheme)) return url?.origin === text ? sure(text) : undefined;
  return url && open(text);
};

const RIGHTS = ['push', 'read', 'users'];
const serviceKey: Reader = (text) => {
  const right = RIGHTS.find((one) => text.startsWith(`${one}:`));
  const key = right === undefined ? text : text.slice(right.length + 1);
  const isToken = /^[A-Za-z0-9\-._~+/]+=*$/.test(key); // RFC 6750 §2.1
  return isToken && key.length >= 32
    ? sure({ key, rights: right === undefined ? RIGHTS : [right] })
    : undefined;
};

/** Hex where all is hex and even, else base64 (RFC 4648 §4, §5). */
const secretKey: Reader = (text) => {
  const isHex = text.length % 2 === 0 && /^[\da-fA-F]+$/.test(text);
  const digits = text.replace(/={0,2}$/, '');
  const isWhole = text.length % 4 === 0;
  if (!isHex && (!/^[\w+/-]+$/.test(digits) || digits.length % 4 === 1)) return undefined;
  const bits = Array.from(isHex ? text : digits, (char) =>
    (isHex ? Number.parseInt(char, 16) : valueOf(char)).toString(2).padStart(isHex ? 4 : 6, '0'),
  );
  const octets = bits.join('').match(/.{8}/g) ?? [];
  const bytes = Buffer.from(octets.map((octet) => Number.parseInt(octet, 2)));
  const isOneAlphabet = !(/[+/]/.test(digits) && /[_-]/.test(digits));
  const hasNothingLeft = !bits
    .join('')
    .slice(octets.length * 8)
    .includes('1');
  const key = new KeyBytes(bytes);
  return bytes.length < 32 ? undefined : sureIf(isHex || (isWhole && isOneAlphabet && hasNothingLeft), key);
};

function valueOf(char: string): number {
  const standard = char === '-' ? '+' : char === '_' ? '/' : char;
  return 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'.indexOf(standard);
}

/** All variables of the contract's table, and the member of the settings that each is. */
export const READERS: Readonly<Record<string, readonly [string, Reader]>> = {
  NODE_ENV: ['production', word({ development: false, test: false, production: true })],
  HOST: ['host', host],
  PORT: ['port', whole(1, 65_535)],
  PUBLIC_URL: ['publicUrl', origin],
  DATABASE_URL: ['databaseUrl', databaseUrl],
  DATABASE_POOLER: ['databasePooler', oneOf('session', 'transaction')],
  DATABASE_DIRECT_URL: ['databaseDirectUrl', databaseUrl],
  DATABASE_POOL_SIZE: ['databasePoolSize', whole(1, 1000)],
  DATA_DIR: ['dataDir', directory],
  REDIS_URL: ['redisUrl', redisUrl],
  SECRET_KEY: ['secretKey', secretKey],
  SERVICE_KEYS: ['serviceKeys', list(serviceKey)],
  REDIRECT_URIS: ['redirectUris', redirectUris],
  CORS_ORIGINS: ['corsOrigins', list(corsOrigin)],
  ACCESS_TOKEN_TTL: ['accessTokenTtl', whole(1, 315_360_000)],
  REFRESH_TOKEN_TTL: ['refreshTokenTtl', whole(1, 315_360_000)],
  STATE_TTL: ['stateTtl', whole(1, 315_360_000)],
  TRUST_PROXY: ['trustProxy', trusted],
  RATE_LIMIT: ['rateLimit', onOff],
  RATE_LIMIT_AUTHORIZE: ['rateLimitAuthorize', whole(1, 1_000_000)],
  RATE_LIMIT_TOKEN: ['rateLimitToken', whole(1, 1_000_000)],
  RATE_LIMIT_REFRESH: ['rateLimitRefresh', whole(1, 1_000_000)],
  RATE_LIMIT_BAD_TOKEN: ['rateLimitBadToken', whole(1, 1_000_000)],
  RATE_LIMIT_CONNECT: ['rateLimitConnect', whole(1, 1_000_000)],
  RATE_LIMIT_WRITE: ['rateLimitWrite', whole(1, 1_000_000)],
  CHANNEL_HISTORY: ['channelHistory', whole(1, 1_000_000)],
  OTEL_EXPORTER_OTLP_ENDPOINT: ['otlpEndpoint', endpoint],
  SHUTDOWN_DELAY: ['shutdownDelay', whole(0, 3600)],
  DEMO_ENABLED: ['demoEnabled', trueFalse],
  METRICS_PORT: ['metricsPort', whole(1, 65_535)],
  LOG_LEVEL: ['logLevel', oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent')],
  LOG_FORMAT: ['logFormat', oneOf('json', 'text')],
};

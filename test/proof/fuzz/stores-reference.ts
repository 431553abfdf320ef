import { addressByTheBook } from './addresses-reference.js';
import { isStrict, sureIf, urlOf, type Reader } from './reading.js';
import { partsOf } from './redirect-reference.js';

/** What is percent-encoded, as text; undefined where it is none. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

const isPort = (port: string | undefined): boolean =>
  port === undefined || (/^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535);
const isHost = (text: string): boolean =>
  /^[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*$/.test(text) ||
  (/^\[.*\]$/.test(text) && text.includes(':') && addressByTheBook(text.slice(1, -1)) !== undefined);

/** Kept as it is. Of what it names there must be one, and all that is escaped must be text (RFC 3986 §2.1; libpq says so, too). */
export const databaseUrl: Reader = (text) => {
  const parts = partsOf(text);
  if (!parts || !/^postgres(?:ql)?:\/\//.test(text)) return undefined;
  const url = urlOf(text) ?? urlOf(text.replace('@/', '@host/'));
  if (!url || parts.host.includes(',') || parts.port?.includes(',')) return undefined;
  if (url.searchParams.getAll('host').some((one) => one.includes(','))) return undefined;
  if (decoded(text) === undefined || /\s/.test(text)) return undefined;
  const [user = '', ...passwords] = parts.userInfo?.split(':') ?? [];
  const isPlain = passwords.length <= 1 && !parts.hasFragment && !/[/?@]/.test(user + (passwords[0] ?? ''));
  const hasPlainName = !/%/.test(parts.rest.replace(/\?[^]*$/, '')); // pg leaves some of what is escaped there as it is, and libpq does not
  return sureIf(isPlain && isStrict(text) && isHost(parts.host) && isPort(parts.port) && hasPlainName, text);
};

/** Where a URL leads of which it is sure that it is one; what it leaves out is for pg to find (`PGUSER`, …), and is not here. */
export function databaseAddress(text: string): Readonly<Record<string, unknown>> {
  const { userInfo, host: named, port, rest } = partsOf(text)!;
  const [user, password] = userInfo?.split(':') ?? [];
  const [path = '', query] = rest.split('?');
  const options = new URLSearchParams(query);
  const host = options.get('host') ?? named.replaceAll(/[[\]]/g, '');
  return {
    host: host || 'localhost',
    port: Number(options.get('port') ?? port ?? 5432),
    ...(user && { user: decoded(user) }),
    ...(password && { password: decoded(password) }),
    ...(path.length > 1 && { database: decoded(path.slice(1)) }),
  };
}

/** The same of Redis. */
export function redisAddress(text: string): Readonly<Record<string, unknown>> {
  const { userInfo, host: named, port, rest } = partsOf(text)!;
  const [user, password] = userInfo?.split(':') ?? [];
  return {
    host: named.replaceAll(/[[\]]/g, ''),
    port: Number(port ?? 6379),
    username: decoded(user ?? '') || undefined,
    password: decoded(password ?? '') || undefined,
    db: Number(rest.replace(/\?.*$/, '').slice(1)),
  };
}

export const redisUrl: Reader = (text) =>
  /^rediss?\+sentinel:\/\//.test(text) ? sentinels(text, '') : redis(text, '');

const redis: Reader = (text) => {
  const parts = partsOf(text);
  const url = urlOf(text);
  if (!parts || !url || !/^rediss?$/i.test(parts.scheme) || parts.host === '') return undefined;
  if (decoded(url.username + url.password) === undefined || !/^\/?$|^\/\d+$/.test(url.pathname))
    return undefined;
  const isPlain =
    /^rediss?:/.test(text) && !parts.hasFragment && (parts.userInfo?.split(/[:@]/).length ?? 0) <= 2;
  return sureIf(
    isPlain && isStrict(text) && isHost(parts.host) && isPort(parts.port) && url.pathname.length < 7,
    text,
  );
};

const sentinels: Reader = (text) => {
  const [address, query] = [text.replace(/\?[^]*$/, ''), /\?([^]*)$/.exec(text)?.[1]];
  const [, tls, authority = '', path] = /^redis(s?)\+sentinel:\/\/([^/]*)(?:\/([^]*))?$/.exec(address) ?? [];
  if (text.includes('#') || path === undefined) return undefined;
  const at = authority.lastIndexOf('@');
  const userInfo = at < 0 ? undefined : authority.slice(0, at);
  const nodes = authority
    .slice(at + 1)
    .split(',')
    .map((node) => partsOf(`x://${node}`));
  const [name = '', db, ...more] = path.split('/');
  const colon = userInfo?.indexOf(':') ?? -1;
  const [user, password] =
    colon < 0 ? [userInfo, undefined] : [userInfo!.slice(0, colon), userInfo!.slice(colon + 1)];
  const pairs = (query ?? '')
    .replace(/^\?/, '')
    .split('&')
    .filter((pair) => pair !== '');
  const options = new Map(
    pairs.toReversed().map((pair) => {
      const equals = pair.indexOf('=') < 0 ? pair.length : pair.indexOf('=');
      return [decoded(pair.slice(0, equals)), pair.slice(equals + 1)];
    }),
  );
  const texts = [name, user ?? '', password ?? '', ...options.values()];
  if (texts.some((one) => decoded(one) === undefined) || name === '') return undefined;
  if (nodes.some((node) => !node || node.host === '' || node.rest !== '' || !isPort(node.port || undefined)))
    return undefined;
  if ([...options.keys()].some((key) => !['sentinel_username', 'sentinel_password'].includes(key ?? '')))
    return undefined;
  if (more.some((one) => one !== '') || !/^\d*$/.test(db ?? '')) return undefined;
  const isPlain =
    more.length === 0 &&
    db !== '' &&
    (db?.length ?? 0) < 6 &&
    (userInfo?.split('@').length ?? 1) === 1 &&
    pairs.every((pair) => /^[a-z_]+=[^=]/.test(pair)) &&
    pairs.length === options.size &&
    pairs.join('&') === (query ?? '') &&
    nodes.every((node) => isHost(node!.host) && node!.port !== '');
  const textIn = (one: string | undefined): string | undefined => (one === undefined ? one : decoded(one));
  const part = (one: string | undefined): string | undefined => decoded(one ?? '') || undefined;
  return sureIf(isPlain && isStrict(text), {
    tls: tls === 's',
    sentinels: nodes.map((node) => ({
      host: node!.host.replaceAll(/[[\]]/g, ''),
      port: Number(node!.port || 26_379),
    })),
    name: decoded(name),
    db: Number(db ?? 0),
    username: part(user),
    password: part(password),
    sentinelUsername: textIn(options.get('sentinel_username')),
    sentinelPassword: textIn(options.get('sentinel_password')),
  });
};

import { parser } from '../settings/parsers.js';

/** Address of Sentinels, which know the Redis that is the master now. */
export interface SentinelUrl {
  /** For Sentinels and Redis. */
  readonly tls: boolean;
  readonly sentinels: readonly { readonly host: string; readonly port: number }[];
  /** Of the master. */
  readonly name: string;
  readonly db: number;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly sentinelUsername: string | undefined;
  readonly sentinelPassword: string | undefined;
}

const SENTINEL_PORT = 26_379;
const REDIS = /^rediss?:\/\/[^/?#]/;
const SENTINEL =
  /^redis(s?)\+sentinel:\/\/(?:([^/?#]*)@)?([^@/?#]+)\/([^/?#]+)(?:\/(\d{1,5}))?\/?(?:\?([^#]*))?$/;
const NODE = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/;
const SENTINEL_OPTIONS = ['sentinel_username', 'sentinel_password'];

/** The URL of a Redis, unchanged, or of its Sentinels, parsed. */
export const redisUrl = parser(
  'redis:// or rediss:// with host and, after /, the number of a database; or ' +
    'redis+sentinel://[user:password@]host:port,host:port/<name>[/<db>] (rediss+sentinel:// with TLS); ' +
    'user and password percent-encoded',
  (value): string | SentinelUrl | undefined => {
    try {
      return value.includes('+sentinel:') ? sentinelUrl(value) : plainUrl(value);
    } catch {
      return undefined; // no URL, or what is percent-encoded is no text
    }
  },
);

/** Refuses what ioredis would throw at or ignore. */
function plainUrl(value: string): string | undefined {
  if (!REDIS.test(value)) return undefined;
  const { username, password, hostname, pathname } = new URL(value);
  decodeURIComponent(username + password);
  return hostname && /^\/?$|^\/\d{1,5}$/.test(pathname) ? value : undefined;
}

function sentinelUrl(value: string): SentinelUrl | undefined {
  const match = SENTINEL.exec(value);
  if (!match) return undefined;
  const [, tls, userInfo, list, name, db, query] = match;
  const sentinels = list!.split(',').map(node);
  // URLSearchParams would put other characters for what is no text, and a blank for +
  decodeURIComponent(query ?? '');
  const options = new URLSearchParams(query?.replaceAll('+', '%2B'));
  if ([...options.keys()].some((key) => !SENTINEL_OPTIONS.includes(key))) return undefined;
  const { username, password } = new URL(`redis://${userInfo ?? ''}@host`);
  return {
    tls: tls === 's',
    sentinels,
    name: decodeURIComponent(name!),
    db: Number(db ?? 0),
    username: decodeURIComponent(username) || undefined,
    password: decodeURIComponent(password) || undefined,
    sentinelUsername: options.get('sentinel_username') ?? undefined,
    sentinelPassword: options.get('sentinel_password') ?? undefined,
  };
}

/** @throws on what is no host with a port */
function node(text: string): SentinelUrl['sentinels'][number] {
  const [, host = '', port] = NODE.exec(text) ?? [];
  const { hostname } = new URL(`redis://${text}`); // throws for an invalid IPv6 address or port
  if (host === '' || hostname === '' || Number(port) === 0) throw new TypeError('not an address');
  return { host: host.replaceAll(/[[\]]/g, ''), port: Number(port ?? SENTINEL_PORT) };
}

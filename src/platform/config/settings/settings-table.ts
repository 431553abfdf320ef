import { databaseUrl } from '../urls/database-url.js';
import * as parsers from './parsers.js';
import { redisUrl } from '../urls/redis-url.js';
import { secretKey } from '../secrets/secret-key.js';
import { serviceKeys } from '../secrets/service-key.js';
import { brandColor, brandLogo, brandName } from './brand-settings.js';
import { settingRows } from './setting-row.js';
import { endpointUrl, isOrigin, isRedirectUri, origin } from '../urls/urls.js';
import { signingSecrets, webhookEvents, webhookUrls } from './signed-calls.js';

const TEN_YEARS = 315_360_000;
const rowOf = (parser: parsers.Parser<number>) => (standard: string, doc: string) => ({
  parser,
  default: standard,
  doc,
});
const lifetime = rowOf(parsers.integer(1, TEN_YEARS, 'seconds'));
const perMinute = rowOf(parsers.integer(1, 1_000_000, 'requests a minute'));
const outsideProduction = { parser: parsers.boolean, default: 'true', productionDefault: 'false' };

/**
 * Settings of the core, declared once; the key is the variable in another case. Features declare their own,
 * providers have provider-keys.ts. An entry is all that a new setting needs: `settings.<key>` has it, and
 * `npm run docs` writes it into .env.example and docs/settings.md, below the last `section` that was named.
 */
export const settingsTable = settingRows({
  nodeEnv: {
    section: 'Mode and address',
    parser: parsers.oneOf('development', 'test', 'production'),
    default: 'development',
    doc: '`production` turns the strict rules on.',
  },
  host: {
    parser: parsers.host,
    default: '127.0.0.1',
    productionDefault: '0.0.0.0',
    doc: 'Address to listen on.',
  },
  port: {
    parser: parsers.integer(1, 65_535),
    default: '3000',
    doc: 'Port to listen on.',
  },
  publicUrl: {
    parser: origin,
    defaultShown: 'http://localhost:<PORT>',
    doc: 'Origin of the service for clients; issuer (`iss`) and audience of the tokens. In production `https:`, unless the host is loopback.',
  },
  databaseUrl: {
    section: 'Storage',
    parser: databaseUrl,
    secret: true,
    doc: 'PostgreSQL, as libpq writes it (docs/database.md). Unset: an embedded PostgreSQL under `DATA_DIR`; in production only if `DATA_DIR` is set.',
  },
  databasePooler: {
    parser: parsers.oneOf('session', 'transaction'),
    default: 'session',
    doc: '`transaction`: `DATABASE_URL` is PgBouncer in transaction mode, or a similar pooler. Needs `DATABASE_DIRECT_URL` or `REDIS_URL`.',
  },
  databaseDirectUrl: {
    parser: databaseUrl,
    secret: true,
    needs: 'DATABASE_URL',
    defaultShown: '`DATABASE_URL`',
    doc: 'The database without the pooler, for migrations and notifications.',
  },
  databasePoolSize: {
    parser: parsers.integer(1, 1000),
    default: '10',
    doc: 'Connections in the pool.',
  },
  dataDir: {
    parser: parsers.directory,
    default: './data',
    doc: 'Directory of the embedded database and generated secrets. Other accounts must not own it or write to it.',
  },
  redisUrl: {
    parser: redisUrl,
    secret: true,
    doc: 'Redis, for exact rate limits across instances, and for many instances (docs/scaling-out.md). `redis://`, `rediss://` (TLS); for Sentinel `redis+sentinel://[user:password@]host:port,host:port/<name>[/<db>]` or `rediss+sentinel://`.',
  },
  secretKey: {
    section: 'Secrets',
    parser: secretKey,
    secret: true,
    defaultShown: 'generated into `DATA_DIR`; required in production',
    doc: 'At least 32 bytes, hex or base64 (`openssl rand -hex 32`). An even number of hex digits counts as hex.',
  },
  serviceKeys: {
    parser: serviceKeys,
    secret: true,
    defaultShown: 'one key, generated into `DATA_DIR` and printed at start; none in production',
    doc: 'Comma-separated keys of back ends: `[<name>=][<right>:]<key>`, with at least 32 characters. The right is `read`, `push`, `support` or `users`; without one the key has all (docs/production.md#service-keys).',
  },
  redirectUris: {
    section: 'Clients',
    parser: parsers.list(
      'absolute http(s) URLs or URIs of a private scheme with a dot (com.example.app:/callback), without fragment and user info',
      isRedirectUri,
    ),
    defaultShown: 'any absolute http(s) URL; required in production',
    doc: 'Comma-separated redirect URIs that are allowed, compared byte for byte; loopback entries (`127.0.0.1`, `[::1]`, `localhost`) match any port. A private scheme needs a dot (`com.example.app:/callback`). `redirect_uris` of a provider override the list.',
  },
  corsOrigins: {
    parser: parsers.list(
      'origins as browsers send them: scheme://host[:port], lower case, no path',
      isOrigin,
    ),
    defaultShown: 'loopback origins; none in production',
    doc: 'Comma-separated browser origins that are allowed, for HTTP and sockets. `PUBLIC_URL` always is.',
  },
  accessTokenTtl: {
    section: 'Lifetimes',
    ...lifetime('3600', 'Seconds for which an access token is valid.'),
  },
  refreshTokenTtl: lifetime(
    '2592000',
    'Seconds for which a refresh token is valid; a refresh never extends it.',
  ),
  stateTtl: lifetime('600', 'Seconds a sign-in may take from authorize to token.'),
  sessionIdleTtl: {
    parser: parsers.integer(300, TEN_YEARS, 'seconds'),
    doc: 'Seconds from the last use of a session to its end, at least 300 (docs/guides/session-length.md#idle).',
  },
  binding: {
    parser: parsers.oneOf('optional', 'required'),
    default: 'optional',
    doc: '`required`: a sign-in without a `DPoP` proof is refused (docs/guides/session-length.md#bound-sessions).',
  },
  trustProxy: {
    section: 'Proxy and rate limits',
    parser: parsers.trustProxy,
    doc: "Express's `trust proxy`: `false`, a number of hops, or addresses and subnets. Without it, forwarded headers are ignored. Production with rate limits needs it, and not `true`.",
  },
  rateLimit: {
    parser: parsers.onOff,
    default: 'off',
    productionDefault: 'on',
    doc: 'Rate limits of the next settings: beyond them, `slow_down` (429) with `Retry-After`. An address is an IPv4 address or an IPv6 /64.',
  },
  rateLimitAuthorize: perMinute('300', 'Authorize calls per minute and address.'),
  rateLimitToken: perMinute('300', 'Token calls per minute and address.'),
  rateLimitRefresh: perMinute('1200', 'Refresh calls per minute and address.'),
  rateLimitBadToken: perMinute(
    '120',
    'Refused bearer tokens and revocations per minute and address; a valid token is never refused.',
  ),
  rateLimitConnect: perMinute('600', 'Handshakes of sockets per minute and address.'),
  rateLimitWrite: perMinute('60', 'Renames of devices per minute and user. Sign-outs are never refused.'),
  channelHistory: {
    section: 'Operation',
    parser: parsers.integer(1, 1_000_000, 'events'),
    default: '1000',
    doc: "Events in a user's history; older ones are removed at every hundredth new one, even before their `ttl`.",
  },
  auditRetentionDays: {
    parser: parsers.integer(0, 3650, 'days'),
    default: '90',
    doc: 'Days for which the audit trail is stored (docs/audit.md); 0: it is only logged.',
  },
  auditAddresses: {
    parser: parsers.oneOf('full', 'network', 'off'),
    default: 'full',
    doc: 'Client addresses in audit trail, sessions and devices: `full`, `network` (IPv4 /24, IPv6 /48) or `off`.',
  },
  auditClaims: {
    parser: parsers.oneOf('full', 'off'),
    default: 'full',
    doc: 'What `claims_changed` records of claims: `full` (names and values), or `off` (names).',
  },
  shutdownDelay: {
    parser: parsers.integer(0, 3600, 'seconds'),
    default: '0',
    doc: 'Seconds of service after SIGTERM, with readiness 503.',
  },
  metricsPort: {
    parser: parsers.integer(1, 65_535),
    defaultShown: '`PORT`; in production with a service key (`read`)',
    doc: 'A port of its own at `HOST` for `GET /metrics`, without a key: do not expose it (docs/metrics.md).',
  },
  otelExporterOtlpEndpoint: {
    parser: endpointUrl,
    defaultShown: 'no traces',
    doc: 'Destination of traces, OTLP (docs/metrics.md#traces).',
  },
  logLevel: {
    parser: parsers.oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    default: 'info',
    doc: 'Least severe messages in the log: `fatal`, `error`, `warn`, `info`, `debug`, `trace`, or `silent`.',
  },
  logFormat: {
    parser: parsers.oneOf('json', 'text'),
    defaultShown: '`text`; in production `json`, except at a terminal',
    doc: '`json`: one object a line. `text`: one readable line, at a terminal in colours unless `NO_COLOR` is set.',
  },
  brandName: {
    parser: brandName,
    doc: 'Name on the pages for people (docs/brand.md).',
  },
  brandLogoFile: {
    parser: brandLogo,
    doc: 'Path of a logo for these pages: SVG or PNG, at most 64 KiB. An SVG with a DOCTYPE, a script, `foreignObject`, or a reference that does not begin with `#` prevents the start.',
  },
  brandColor: {
    parser: brandColor,
    doc: 'Colour of buttons and links on these pages, as `#rrggbb`; a darker shade if text on it could not be read.',
  },
  webhookUrls: {
    section: 'Webhooks',
    parser: webhookUrls,
    secret: true,
    needs: 'WEBHOOK_SECRET',
    isCalled: true,
    doc: 'Comma-separated `https:` addresses (`http:` on loopback), at most 20, that get audit events (docs/webhooks.md).',
  },
  webhookSecret: {
    parser: signingSecrets,
    secret: true,
    doc: 'Signs the webhooks: `whsec_` and 24 to 64 bytes as base64 (`echo "whsec_$(openssl rand -base64 32)"`). Several, separated by commas, sign each request (docs/webhooks.md#change-the-secret).',
  },
  webhookEvents: {
    parser: webhookEvents,
    defaultShown: 'all but refusals (`…_refused`)',
    doc: 'Comma-separated names of the audit events that webhooks get. Of refusals, few are sent (docs/webhooks.md#refusals).',
  },
  webhookPrivate: {
    ...outsideProduction,
    doc: 'Whether `WEBHOOK_URLS`, and other addresses of yours that are called, may be in private networks and on this machine.',
  },
});

import { checkNames } from '../option-names.js';
import { OPTIONS, readOptions, webAddress, type Settings, type VerifierOptions } from '../options.js';

/** Options of `createSessions`: `issuer`, `clientUrl` and `cookieSecret` are required. */
export interface SessionOptions extends Omit<VerifierOptions, 'audience'> {
  /** Origin of your application as browsers see it, e.g. `https://app.example.com`. `http` for `localhost` only. */
  clientUrl: string;
  /**
   * Encrypts the cookies: 32 random characters or more, equal in all processes. A list replaces a secret, and all users stay
   * signed in: the first one encrypts new cookies, all of them decrypt. Keep an old one for `maxAge`.
   */
  cookieSecret: string | readonly string[];
  /** Path below which the handlers are: `<prefix>/sign-in`, `/callback`, `/sign-out`, `/token`. Default `/auth`. */
  prefix?: string;
  /**
   * Path of your application, if it is not all of the host: `/shop` for `https://example.com/shop`. All addresses for browsers begin with
   * it; the handlers take requests with and without it, since Next.js and some proxies remove it. Default none.
   */
  basePath?: string;
  /**
   * Name of the session's cookie. Applications on one host, also on several ports of localhost, need a name each: `__Host-shop`.
   * Default `__Host-latchkey`.
   */
  cookieName?: string;
  /** Seconds for which a browser keeps the cookie: `REFRESH_TOKEN_TTL` of the service. Default 30 days. */
  maxAge?: number;
  /** Whether `<prefix>/token` gives scripts of your pages an access token, for the real-time channel. Default false. */
  tokenEndpoint?: boolean;
  /**
   * Whether a sign-out leads to the provider's logout page, if it has one. Register `<clientUrl>/` there as the address to return to;
   * `returnTo` counts for other providers. It ends the sessions of this browser. Default false.
   */
  providerLogout?: boolean;
  /**
   * Header in which your proxy has the user's address, e.g. `x-forwarded-for`: the service limits and records this address in place of
   * your server's, if its `TRUST_PROXY` lists your server. Your proxy must set the header for each request. Default none.
   */
  addressHeader?: string;
  /** Path of your page for failed sign-ins, which gets `?error=` and `returnTo=`. Default: a plain page. */
  errorPath?: string;
}

export interface SessionSettings extends Settings {
  /** An origin. */
  readonly clientUrl: string;
  readonly cookieSecrets: readonly string[];
  /** Of the handlers, without `basePath`. */
  readonly innerPrefix: string;
  /** Of the handlers, as browsers have it. */
  readonly prefix: string;
  readonly basePath: string;
  readonly cookieName: string;
  readonly maxAge: number;
  readonly tokenEndpoint: boolean;
  readonly providerLogout: boolean;
  readonly addressHeader: string | undefined;
  /** As browsers have it. */
  readonly errorPath: string | undefined;
}

const { audience: _ofApis, ...OF_SESSIONS } = OPTIONS;
const SESSION_OPTIONS = {
  ...OF_SESSIONS,
  clientUrl: true,
  cookieSecret: true,
  prefix: true,
  basePath: true,
  cookieName: true,
  maxAge: true,
  tokenEndpoint: true,
  providerLogout: true,
  addressHeader: true,
  errorPath: true,
} as const;

const SHORTEST_SECRET = 32;
const MOST_SECRETS = 10;
const DAY = 86_400;
/** Browsers keep no cookie longer (RFC 6265bis §5.5). */
const LONGEST_AGE = 400 * DAY;
const PATH = /^(?:\/[A-Za-z0-9_~.-]+)+$/;

/** Only browsers' own rules for `__Host-` protect the cookie. No dot: the names of other cookies add one. */
const COOKIE_NAME = /^__Host-[A-Za-z0-9_-]{1,50}$/;

/** @throws TypeError for an invalid value or an unknown option, at the start instead of at the first request */
export function readSessionOptions(options: SessionOptions): SessionSettings {
  const { cookieSecret, prefix = '/auth', maxAge = 30 * DAY, errorPath, addressHeader } = options;
  const { tokenEndpoint = false, providerLogout = false, basePath = '' } = options;
  const { cookieName = '__Host-latchkey' } = options;
  checkNames('createSessions()', options, SESSION_OPTIONS);
  const clientUrl = webAddress('clientUrl', options.clientUrl);
  if (clientUrl !== new URL(clientUrl).origin) throw new TypeError('clientUrl must be an origin: no path');
  // `__Host-` cookies need https; browsers other than Safari make an exception for this name.
  if (!/^(?:https:|http:\/\/localhost(?::|$))/.test(clientUrl))
    throw new TypeError('clientUrl must begin with https://, or be http://localhost for development');
  if (!PATH.test(prefix)) throw new TypeError('prefix must be a path such as /auth');
  if (basePath !== '' && !PATH.test(basePath)) throw new TypeError('basePath must be a path such as /shop');
  if (!COOKIE_NAME.test(cookieName))
    throw new TypeError('cookieName must be __Host- with letters, digits, - or _, such as __Host-shop');
  if (errorPath !== undefined && !PATH.test(errorPath)) throw new TypeError('errorPath must be a path');
  if (!(maxAge >= 60 && maxAge <= LONGEST_AGE)) throw new TypeError('maxAge must be 60 s to 400 days');
  if (addressHeader !== undefined && !/^[\w-]+$/.test(addressHeader))
    throw new TypeError('addressHeader must be the name of a header, such as x-forwarded-for');
  return {
    ...readOptions(options),
    clientUrl,
    cookieSecrets: readSecrets(cookieSecret),
    innerPrefix: prefix,
    prefix: basePath + prefix,
    basePath,
    cookieName,
    maxAge: Math.floor(maxAge),
    tokenEndpoint,
    providerLogout,
    addressHeader: addressHeader?.toLowerCase(),
    errorPath: errorPath === undefined ? undefined : basePath + errorPath,
  };
}

/** Errors are without the value. */
function readSecrets(secret: SessionOptions['cookieSecret']): readonly string[] {
  const secrets: unknown[] = Array.isArray(secret) ? secret : [secret];
  if (secrets.length === 0 || secrets.length > MOST_SECRETS)
    throw new TypeError(`cookieSecret must be one secret, or a list of ${MOST_SECRETS} at most`);
  for (const one of secrets)
    if (typeof one !== 'string' || one.length < SHORTEST_SECRET)
      throw new TypeError(
        `cookieSecret must have ${SHORTEST_SECRET} random characters or more, e.g. of \`openssl rand -hex 32\``,
      );
  return secrets as string[];
}

import { readOptions, webAddress, type Settings, type VerifierOptions } from '../options.js';

/** Options of `createSessions`: `issuer`, `clientUrl` and `cookieSecret` are required. */
export interface SessionOptions extends VerifierOptions {
  /** Origin of your application as browsers see it, e.g. `https://app.example.com`. `http` for `localhost` only. */
  clientUrl: string;
  /**
   * Encrypts the cookies: 32 random characters or more, equal in all processes. A list replaces a secret, and all users stay
   * signed in: the first one encrypts new cookies, all of them decrypt. Keep an old one for `maxAge`.
   */
  cookieSecret: string | readonly string[];
  /** Path below which the handlers are: `<prefix>/sign-in`, `/callback`, `/sign-out`, `/token`. Default `/auth`. */
  prefix?: string;
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
  readonly prefix: string;
  readonly maxAge: number;
  readonly tokenEndpoint: boolean;
  readonly providerLogout: boolean;
  readonly addressHeader: string | undefined;
  readonly errorPath: string | undefined;
}

const SHORTEST_SECRET = 32;
const MOST_SECRETS = 10;
const DAY = 86_400;
/** Browsers keep no cookie longer (RFC 6265bis §5.5). */
const LONGEST_AGE = 400 * DAY;
const PATH = /^(?:\/[A-Za-z0-9_~.-]+)+$/;

/** @throws TypeError for an invalid value, at the start instead of at the first request */
export function readSessionOptions(options: SessionOptions): SessionSettings {
  const { cookieSecret, prefix = '/auth', maxAge = 30 * DAY, errorPath, addressHeader } = options;
  const { tokenEndpoint = false, providerLogout = false } = options;
  const clientUrl = webAddress('clientUrl', options.clientUrl);
  if (clientUrl !== new URL(clientUrl).origin) throw new TypeError('clientUrl must be an origin: no path');
  // `__Host-` cookies need https; browsers other than Safari make an exception for this name.
  if (!/^(?:https:|http:\/\/localhost(?::|$))/.test(clientUrl))
    throw new TypeError('clientUrl must begin with https://, or be http://localhost for development');
  if (!PATH.test(prefix)) throw new TypeError('prefix must be a path such as /auth');
  if (errorPath !== undefined && !PATH.test(errorPath)) throw new TypeError('errorPath must be a path');
  if (!(maxAge >= 60 && maxAge <= LONGEST_AGE)) throw new TypeError('maxAge must be 60 s to 400 days');
  if (addressHeader !== undefined && !/^[\w-]+$/.test(addressHeader))
    throw new TypeError('addressHeader must be the name of a header, such as x-forwarded-for');
  return {
    ...readOptions(options),
    clientUrl,
    cookieSecrets: readSecrets(cookieSecret),
    prefix,
    maxAge: Math.floor(maxAge),
    tokenEndpoint,
    providerLogout,
    addressHeader: addressHeader?.toLowerCase(),
    errorPath,
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

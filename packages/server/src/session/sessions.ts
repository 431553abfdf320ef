import { invalidToken, LatchkeyError } from '../latchkey-error.js';
import type { Claims } from '../token/token-signature.js';
import { Verifier } from '../verifier.js';
import { AccessTokens, type Current, type CookieSession } from './access-tokens.js';
import { CookieSeal } from './cookie-seal.js';
import { cookiesOf, removeCookie } from './cookies.js';
import { Finished } from './finished.js';
import { addressOf, isForged, isFromOrigin, isPrefetch, headerOf, type PageRequest } from './page-request.js';
import { readSessionOptions, type SessionOptions, type SessionSettings } from './session-options.js';
import { SignIns } from './sign-ins.js';
import { returnAddress } from './return-to.js';
import { answer, failurePage, redirect } from './answers.js';
import { TokenCalls } from './token-calls.js';

/** A signed-in user. Has no token, so it may be given to components that run in the browser. */
export interface Session {
  /** The session's id. */
  readonly id: string;
  readonly userId: string;
  /** The user's current claims, as an access token carries them. */
  readonly claims: Claims;
}

/** For calls to an API on the user's behalf. */
export interface AccessToken {
  readonly token: string;
  /** Seconds. */
  readonly expiresIn: number;
}

type Handler = (request: PageRequest) => Promise<Response>;

/** Sign-in of an application with pages that a server renders. Made by `createSessions`, one per process. */
export class Sessions {
  /** The verifier of this application: for APIs that other clients call, `push()`, `users` and `audit`. */
  readonly verifier: Verifier;
  private readonly settings: SessionSettings;
  private readonly seal: CookieSeal;
  private readonly calls: TokenCalls;
  private readonly tokens: AccessTokens;
  private readonly signIns: SignIns;
  /** By refresh token: the sessions that were signed out here. A copy of a cookie may come any number of times. */
  private readonly signedOut: Finished<true>;
  /** By refresh token: sign-outs in progress, with the provider's logout page. */
  private readonly endings = new Map<string, Promise<string | undefined>>();
  /** By path without `basePath`. */
  private readonly handlers: Readonly<Record<string, { readonly method: string; readonly handler: Handler }>>;

  /**
   * @param now milliseconds of a clock that is not set
   * @throws TypeError for an invalid option
   */
  constructor(options: SessionOptions, now: () => number = elapsed) {
    this.settings = readSessionOptions(options);
    this.verifier = new Verifier(options);
    this.seal = new CookieSeal(this.settings.cookieSecrets);
    this.calls = new TokenCalls(this.settings);
    this.tokens = new AccessTokens(this.verifier, this.calls, now);
    this.signIns = new SignIns(this.settings, this.seal, this.calls, this.tokens, now);
    this.signedOut = new Finished(now);
    warnAboutAddresses(this.settings);
    const { innerPrefix: prefix, tokenEndpoint } = this.settings;
    this.handlers = {
      [`${prefix}/sign-in`]: { method: 'GET', handler: this.signIn },
      [`${prefix}/callback`]: { method: 'GET', handler: this.callback },
      [`${prefix}/sign-out`]: { method: 'POST', handler: this.signOut },
      ...(tokenEndpoint && { [`${prefix}/token`]: { method: 'GET', handler: this.token } }),
    };
  }

  /**
   * Answers the requests below `prefix`.
   * @returns undefined for all others
   *
   * @example
   * app.use(async (c, next) => (await sessions.handle(c.req.raw)) ?? next()); // Hono
   */
  readonly handle = async (request: PageRequest): Promise<Response | undefined> => {
    const { clientUrl, basePath } = this.settings;
    const { pathname: outer } = urlOf(request, clientUrl);
    // Routers may add a slash to the address, or remove the path of the application.
    const inner = basePath && outer.startsWith(`${basePath}/`) ? outer.slice(basePath.length) : outer;
    const pathname = inner.replace(/\/$/, '');
    const found = Object.hasOwn(this.handlers, pathname) ? this.handlers[pathname] : undefined;
    if (!found) return undefined;
    if (request.method === found.method) return found.handler(request);
    return answer(405, null, { Allow: found.method });
  };

  /**
   * Returns the session of a request. No network is needed, except for a refresh (once in an hour and process) and while sign-outs are not
   * received (`whenAway`). If the service has an idle time, the first call of each minute prolongs the session, in the background; not for a
   * prefetch. A request that may change something has no session if a page of another origin causes it (CSRF).
   * @param request a `Request`, Node.js's `IncomingMessage`, or an object with headers: `{ headers: await headers() }`
   * @returns null without a session, or if it has ended
   * @throws LatchkeyError `temporarily_unavailable` (503), `service_key_refused` (500)
   *
   * @example
   * const session = await sessions.getSession(request);
   * if (!session) return Response.redirect(new URL('/auth/sign-in?returnTo=/orders', request.url), 303);
   */
  readonly getSession = async (request: PageRequest): Promise<Session | null> => {
    const current = await this.currentOf(request);
    if (!current) return null;
    const { claims } = current;
    return { id: claims.sid, userId: claims.sub, claims };
  };

  /**
   * Returns an access token of the user, for a call to another API. Keep it on the server.
   * @returns null without a session
   * @throws LatchkeyError as `getSession` does
   *
   * @example
   * const { token } = await sessions.getAccessToken(request);
   * await fetch('https://api.example.com/orders', { headers: { Authorization: `Bearer ${token}` } });
   */
  readonly getAccessToken = async (request: PageRequest): Promise<AccessToken | null> => {
    const current = await this.currentOf(request, true);
    return current ? { token: current.token, expiresIn: current.expiresIn } : null;
  };

  /** `GET <prefix>/sign-in?returnTo=`: sends the browser to the service. Below `prefix`, `handle` calls it. */
  readonly signIn: Handler = (request) =>
    Promise.resolve(this.signIns.begin(request, urlOf(request, this.settings.clientUrl).searchParams));

  /** `GET <prefix>/callback`: sets the cookie, and sends the browser to `returnTo`. */
  readonly callback: Handler = (request) =>
    this.signIns.finish(request, urlOf(request, this.settings.clientUrl).searchParams, {
      session: this.sessionOf(request),
      isLive: () => this.currentOf(request).then(Boolean, () => false),
    });

  /** `POST <prefix>/sign-out?returnTo=`, from a page of the application: ends the session, everywhere within a second. */
  readonly signOut: Handler = async (request) => {
    const { clientUrl, prefix, basePath, cookieName } = this.settings;
    if (!isFromOrigin(request, clientUrl)) return FOREIGN.toResponse();
    const session = this.sessionOf(request);
    const cookies = [removeCookie(cookieName)];
    try {
      const page = session && (await this.end(session));
      const path = urlOf(request, clientUrl).searchParams.get('returnTo');
      return redirect(page ?? returnAddress(path, clientUrl, prefix, basePath), cookies);
    } catch {
      return failurePage(503, SIGNED_OUT_HERE, {}, cookies);
    }
  };

  /** `GET <prefix>/token`, from a script of the application: `{access_token, expires_in}`. */
  readonly token: Handler = async (request) => {
    const isScript = headerOf(request, 'sec-fetch-mode') !== 'navigate';
    if (!isScript || !isFromOrigin(request, this.settings.clientUrl)) return FOREIGN.toResponse();
    try {
      const current = await this.currentOf(request, true, false);
      if (!current) return invalidToken('nobody is signed in', false).toResponse();
      const body = { access_token: current.token, expires_in: current.expiresIn };
      return Response.json(body, { headers: { 'Cache-Control': 'no-store' } });
    } catch (error) {
      if (error instanceof LatchkeyError) return error.toResponse();
      throw error;
    }
  };

  /** Closes the connections to the service, which otherwise keep the process alive. */
  close(): void {
    this.verifier.close();
  }

  /** Concurrent and repeated sign-outs of a session are one. */
  private end(session: CookieSession): Promise<string | undefined> {
    const { refreshToken } = session;
    if (this.signedOut.get(refreshToken)) return Promise.resolve(undefined);
    let ending = this.endings.get(refreshToken);
    if (!ending) {
      ending = this.endOnce(session).finally(() => this.endings.delete(refreshToken));
      this.endings.set(refreshToken, ending);
    }
    return ending;
  }

  /** @returns the provider's logout page. @throws LatchkeyError if the session goes on */
  private async endOnce(session: CookieSession): Promise<string | undefined> {
    const page = await this.endAtService(session);
    this.signedOut.add(session.refreshToken, true);
    return page;
  }

  private async endAtService(session: CookieSession): Promise<string | undefined> {
    const { settings, tokens, calls } = this;
    const { refreshToken, address } = session;
    const current = settings.providerLogout
      ? await tokens.current(session, true).finally(() => tokens.end(refreshToken))
      : undefined;
    tokens.end(refreshToken);
    if (!current) {
      await calls.revoke(refreshToken, 'user', session);
      return undefined;
    }
    const call = calls.signOut(`${settings.clientUrl}${settings.basePath}/`, {
      accessToken: current.token,
      address,
    });
    return call.catch((error: LatchkeyError) => {
      if (error.code !== 'invalid_token') throw error; // it has just ended elsewhere
      return undefined;
    });
  }

  private async currentOf(
    request: PageRequest,
    isFresh = false,
    isUse = !isPrefetch(request),
  ): Promise<Current | undefined> {
    const session = this.sessionOf(request);
    if (!session || isForged(request, this.settings.clientUrl)) return undefined;
    return this.tokens.current(session, isFresh, isUse);
  }

  private sessionOf(request: PageRequest): CookieSession | undefined {
    const { cookieName: name } = this.settings;
    const value = cookiesOf(request, name).get(name);
    const opened = value === undefined ? undefined : this.seal.open(name, value);
    const address = addressOf(request, this.settings.addressHeader);
    return opened && { refreshToken: opened.text, proofs: opened.proofs, address };
  }
}

const FOREIGN = new LatchkeyError('invalid_origin', 403, 'only pages of this application may call this');
const SIGNED_OUT_HERE =
  'You are signed out in this browser. The sign-in service cannot be reached, so the session itself goes on.';

/** Limits of the service are by address: without the header, one user can use up the limits of all. */
function warnAboutAddresses({ addressHeader, clientUrl, warn }: SessionSettings): void {
  const isTried = ['development', 'test'].includes(process.env['NODE_ENV'] ?? '');
  if (addressHeader !== undefined || isTried || clientUrl.startsWith('http:')) return;
  warn(
    "addressHeader is not set: the service counts all sign-ins for this server's address, so one visitor can use up the limit for all. " +
      'Set it to the header with the address that your proxy sends, and list this server in TRUST_PROXY of the service',
  );
}

/** Milliseconds since the process began, also if the machine sleeps or its clock is set back. */
function elapsed(): number {
  return Math.max(performance.now(), Date.now() - performance.timeOrigin);
}

/** Only path and query are of the request: behind a proxy, the rest is not what the browser has. */
function urlOf({ url = '/' }: PageRequest, origin: string): URL {
  return URL.canParse(url, origin) ? new URL(url, origin) : new URL(origin);
}

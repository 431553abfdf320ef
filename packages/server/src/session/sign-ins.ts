import { randomUUID } from 'node:crypto';
import { LatchkeyError } from '../latchkey-error.js';
import type { AccessTokens, CookieSession } from './access-tokens.js';
import { answer, redirect } from './answers.js';
import { Attempts, challengeOf, type Attempt } from './attempts.js';
import type { CookieSeal } from './cookie-seal.js';
import { cookiesOf, setCookie } from './cookies.js';
import { Finished } from './finished.js';
import { addressOf, headerOf, type PageRequest } from './page-request.js';
import { returnAddress } from './return-to.js';
import type { SessionSettings } from './session-options.js';
import { ERROR, REFUSED, signInFailurePage } from './sign-in-failure.js';
import type { TokenCalls } from './token-calls.js';

const DEVICE_AGE = 400 * 86_400; // seconds; browsers keep no cookie longer (RFC 6265bis §5.5)

/** Parameters of `sign-in` that the service gets. */
const PASSED = ['provider', 'login_hint', 'prompt', 'max_age', 'acr_values', 'ui_locales'];
/** Codes of the service: another one needs no call. */
const CODE = /^lkc_[\w-]{43}$/;

interface SignedIn {
  readonly refreshToken: string;
  /** The browser's `device_id`. */
  readonly device: string;
}

/** How an attempt ended. */
type Outcome = { readonly refreshToken: string; readonly returnTo: string } | { readonly error: string };

/** What a request says about the browser's session. */
export interface Before {
  /** The session of the cookie, which may have ended. */
  readonly session: CookieSession | undefined;
  /** Whether it is live. */
  readonly isLive: () => Promise<boolean>;
}

/** Signs users in: authorization code flow with PKCE, `state` and `iss` (RFC 6749, 7636, 9207). */
export class SignIns {
  private readonly attempts: Attempts;
  /** By state. An attempt is used once, also if its cookie comes again: each use is a call from this server's address. */
  private readonly finished: Finished<Outcome>;
  /** By state: concurrent calls of a callback share its result. */
  private readonly redeeming = new Map<
    string,
    { readonly code: string; readonly result: Promise<SignedIn> }
  >();
  /** Name of the cookie with the `device_id` (spec §2.4), which outlives sessions: a sign-in again is no other device. */
  private readonly deviceCookie: string;
  /** Compared byte for byte with `REDIRECT_URIS` of the service. */
  private readonly redirectUri: string;
  /** Clients are not registered: a name for the audit trail. */
  private readonly clientId: string;

  constructor(
    private readonly settings: SessionSettings,
    private readonly seal: CookieSeal,
    private readonly calls: TokenCalls,
    private readonly tokens: AccessTokens,
    private readonly now: () => number,
  ) {
    this.attempts = new Attempts(seal, settings.cookieName);
    this.finished = new Finished(now);
    this.deviceCookie = `${settings.cookieName}.device`;
    this.redirectUri = `${settings.clientUrl}${settings.prefix}/callback`;
    this.clientId = new URL(settings.clientUrl).host;
  }

  begin(request: PageRequest, query: URLSearchParams): Response {
    // Not for a prefetch, a prerendering or an image, which would begin sign-ins without the user.
    const mode = headerOf(request, 'sec-fetch-mode') ?? 'navigate';
    if (mode !== 'navigate' || headerOf(request, 'sec-purpose') !== undefined) return answer(400);
    const { attempt, cookies } = this.attempts.begin(request, this.returnTo(query));
    const url = new URL(`${this.settings.issuer}/oauth2/authorize`);
    url.search = new URLSearchParams({
      response_type: 'code',
      client_id: this.clientId,
      redirect_uri: this.redirectUri,
      state: attempt.state,
      code_challenge: challengeOf(attempt),
      code_challenge_method: 'S256',
      ...Object.fromEntries([...query].filter(([name]) => PASSED.includes(name))),
    }).toString();
    return redirect(url.href, cookies);
  }

  async finish(request: PageRequest, query: URLSearchParams, before: Before): Promise<Response> {
    if (!query.has('code') && !query.has('state')) return this.failure(query, await before.isLive());
    const state = query.get('state') ?? '';
    const { attempt, cookies } = this.attempts.end(request, state);
    const outcome = this.finished.get(state);
    if (!attempt || outcome) return this.repeated(attempt, outcome, cookies, before);
    const error = checked(query, this.settings.issuer);
    if (error !== undefined) return this.failed(error, attempt, cookies);
    try {
      const result = await this.redeemOnce(request, query.get('code')!, attempt, before.session);
      return redirect(attempt.returnTo, [...cookies, ...this.cookiesFor(result)]);
    } catch (failure) {
      if (!(failure instanceof LatchkeyError)) throw failure;
      return this.failed(failure.code, attempt, cookies);
    }
  }

  /** A callback whose attempt is over: the user went back to it, or a tab was restored. */
  private async repeated(
    attempt: Attempt | undefined,
    outcome: Outcome | undefined,
    cookies: readonly string[],
    { session, isLive }: Before,
  ): Promise<Response> {
    if (outcome && 'error' in outcome) return this.failed(outcome.error, attempt, cookies);
    if (!(await isLive())) return this.failed(attempt ? 'invalid_grant' : 'invalid_state', attempt, cookies);
    const isOwn = outcome && outcome.refreshToken === session?.refreshToken;
    return redirect(isOwn ? outcome.returnTo : this.home, cookies);
  }

  private cookiesFor({ refreshToken, device }: SignedIn): string[] {
    const { cookieName: name, maxAge } = this.settings;
    return [
      setCookie(name, this.seal.seal(name, refreshToken), maxAge),
      setCookie(this.deviceCookie, this.seal.seal(this.deviceCookie, device), DEVICE_AGE),
    ];
  }

  private deviceOf(request: PageRequest): string {
    const value = cookiesOf(request, this.deviceCookie).get(this.deviceCookie);
    return (value && this.seal.open(this.deviceCookie, value)?.text) ?? randomUUID();
  }

  /** @param replaced the session that this browser has had */
  private redeemOnce(
    request: PageRequest,
    code: string,
    attempt: Attempt,
    replaced: CookieSession | undefined,
  ): Promise<SignedIn> {
    const { state, returnTo } = attempt;
    const running = this.redeeming.get(state);
    if (running?.code === code) return running.result;
    if (running)
      return Promise.reject(new LatchkeyError('invalid_grant', 401, 'the attempt has another code'));
    const redeem = async (): Promise<SignedIn> => {
      const device = this.deviceOf(request);
      try {
        const refreshToken = await this.redeem(request, code, attempt, device);
        if (replaced) await this.replace(replaced);
        this.finished.add(state, { refreshToken, returnTo });
        return { refreshToken, device };
      } catch (failure) {
        if (failure instanceof LatchkeyError) {
          this.finished.add(state, { error: failure.code });
          if (!['invalid_grant', REFUSED].includes(failure.code)) this.warn(failure);
        }
        throw failure;
      } finally {
        this.redeeming.delete(state);
      }
    };
    const result = redeem();
    this.redeeming.set(state, { code, result });
    return result;
  }

  /** @returns the refresh token */
  private async redeem(
    request: PageRequest,
    code: string,
    { verifier }: Attempt,
    device: string,
  ): Promise<string> {
    const userAgent = headerOf(request, 'user-agent')?.slice(0, 1000);
    const body = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: this.redirectUri,
      client_id: this.clientId,
      code_verifier: verifier,
      device_id: device,
      ...(userAgent && { user_agent: userAgent }),
    };
    const sentAt = this.now();
    const tokens = await this.calls.token('/oauth2/token', body, {
      proofs: this.seal.proofs,
      address: addressOf(request, this.settings.addressHeader),
    });
    const refreshToken = tokens.refresh_token ?? '';
    await this.tokens.add(refreshToken, tokens, sentAt);
    return refreshToken;
  }

  /** A browser has one session. If the service cannot be reached now, the old one stays until it expires, without a cookie. */
  private async replace(session: CookieSession): Promise<void> {
    this.tokens.end(session.refreshToken);
    await this.calls.revoke(session.refreshToken, 'replaced', session).catch(() => undefined);
  }

  /**
   * Leads away from the address with the code. A script in a page could send a frame here with a code for its own verifier, and would read
   * the code from an address that is shown (RFC 10017 §5.1.3).
   */
  private failed(error: string, attempt: Attempt | undefined, cookies: readonly string[]): Response {
    const { clientUrl, prefix, errorPath = `${prefix}/callback` } = this.settings;
    const { pathname, search, hash } = new URL(attempt?.returnTo ?? this.home);
    const query = new URLSearchParams({ error, returnTo: pathname + search + hash });
    return redirect(`${clientUrl}${errorPath}?${query.toString()}`, cookies);
  }

  /** The plain page, without an `errorPath`. */
  private failure(query: URLSearchParams, isLive: boolean): Response {
    const { clientUrl, prefix } = this.settings;
    const returnTo = this.returnTo(query);
    const { pathname, search, hash } = new URL(returnTo);
    const retry = new URLSearchParams({ returnTo: pathname + search + hash });
    const again = `${clientUrl}${prefix}/sign-in?${retry.toString()}`;
    return signInFailurePage(query.get('error') ?? '', again, isLive ? returnTo : undefined);
  }

  /** The browser gets the code alone. */
  private warn({ message, cause }: LatchkeyError): void {
    const reason = cause instanceof Error ? ` (${cause.message})` : '';
    this.settings.warn(
      `A sign-in failed: ${message}${reason}. Check issuer, url and the clock of this machine`,
    );
  }

  private returnTo(query: URLSearchParams): string {
    const { clientUrl, prefix, basePath } = this.settings;
    return returnAddress(query.get('returnTo'), clientUrl, prefix, basePath);
  }

  private get home(): string {
    return `${this.settings.clientUrl}${this.settings.basePath}/`;
  }
}

/** Validates the answer in the callback's query before the code goes anywhere. @returns the error */
function checked(query: URLSearchParams, issuer: string): string | undefined {
  if (query.get('iss') !== issuer) return 'invalid_issuer'; // RFC 9207 §2.4
  const error = query.get('error');
  if (error !== null) return ERROR.test(error) ? error : 'server_error';
  return CODE.test(query.get('code') ?? '') ? undefined : 'invalid_grant';
}

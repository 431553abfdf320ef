import { LatchkeyError } from '../latchkey-error.js';
import type { AccessTokens, HeldSession } from './access-tokens.js';
import { failurePage, redirect } from './answers.js';
import { Attempts, challengeOf, type Attempt } from './attempts.js';
import type { CookieSeal } from './cookie-seal.js';
import { setCookie } from './cookies.js';
import { headerOf, type PageRequest } from './page-request.js';
import { returnAddress } from './return-to.js';
import type { SessionSettings } from './session-options.js';
import type { TokenCalls } from './token-calls.js';

/** The session's cookie. */
export const COOKIE = '__Host-latchkey';

/** Parameters of `sign-in` that the service gets (contract §4). */
const PASSED = ['provider', 'login_hint', 'prompt', 'max_age', 'acr_values', 'ui_locales'];
/** As the service has them (RFC 6749 §4.1.2.1), and those below. */
const ERROR = /^[a-z_]{1,64}$/;

/** Signs users in: authorization code flow with PKCE, `state` and `iss` (RFC 6749, 7636, 9207). */
export class SignIns {
  private readonly attempts: Attempts;
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
    this.attempts = new Attempts(seal);
    this.redirectUri = `${settings.clientUrl}${settings.prefix}/callback`;
    this.clientId = new URL(settings.clientUrl).host;
  }

  begin(request: PageRequest, query: URLSearchParams): Response {
    // Not for a prefetch or an image, which would begin sign-ins without the user.
    const mode = headerOf(request, 'sec-fetch-mode');
    if (mode !== undefined && mode !== 'navigate') return new Response(null, { status: 400 });
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

  /** @param replaced the session that this browser has had */
  async finish(
    request: PageRequest,
    query: URLSearchParams,
    replaced: HeldSession | undefined,
  ): Promise<Response> {
    const { attempt, cookies } = this.attempts.end(request, query.get('state') ?? '');
    const error = checked(query, attempt, this.settings.issuer);
    if (!attempt || error !== undefined) return this.failed(error ?? 'invalid_state', attempt, cookies);
    try {
      const refreshToken = await this.redeem(request, query.get('code')!, attempt);
      if (replaced) await this.replace(replaced);
      const sealed = this.seal.seal(COOKIE, refreshToken);
      return redirect(attempt.returnTo, [...cookies, setCookie(COOKIE, sealed, this.settings.maxAge)]);
    } catch (failure) {
      if (!(failure instanceof LatchkeyError)) throw failure;
      if (failure.code !== 'invalid_grant') this.warn(failure);
      return this.failed(failure.code, attempt, cookies);
    }
  }

  /** @returns the refresh token */
  private async redeem(request: PageRequest, code: string, { verifier }: Attempt): Promise<string> {
    const userAgent = headerOf(request, 'user-agent')?.slice(0, 1000);
    const body = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: this.redirectUri,
      client_id: this.clientId,
      code_verifier: verifier,
      ...(userAgent && { user_agent: userAgent }),
    };
    const askedAt = this.now();
    const answer = await this.calls.token('/oauth2/token', body, this.seal.proofs);
    const refreshToken = answer.refresh_token ?? '';
    await this.tokens.add(refreshToken, answer, askedAt);
    return refreshToken;
  }

  /** A browser has one session. If the service cannot be reached now, the old one stays until it expires, without a cookie. */
  private async replace({ refreshToken }: HeldSession): Promise<void> {
    this.tokens.end(refreshToken);
    await this.calls.revoke(refreshToken, 'replaced').catch(() => undefined);
  }

  private failed(code: string, attempt: Attempt | undefined, cookies: readonly string[]): Response {
    const { clientUrl, prefix, errorPath } = this.settings;
    const { pathname, search, hash } = new URL(attempt?.returnTo ?? clientUrl);
    const returnTo = pathname + search + hash;
    if (errorPath !== undefined) {
      const query = new URLSearchParams({ error: code, returnTo });
      return redirect(`${clientUrl}${errorPath}?${query.toString()}`, cookies);
    }
    const retry = `${clientUrl}${prefix}/sign-in?${new URLSearchParams({ returnTo }).toString()}`;
    const status = code === 'temporarily_unavailable' ? 503 : 400;
    return failurePage(status, `Signing in did not work (${code}).`, { cookies, retry });
  }

  /** The browser gets the code alone. */
  private warn({ message, cause }: LatchkeyError): void {
    const reason = cause instanceof Error ? ` (${cause.message})` : '';
    this.settings.warn(
      `A sign-in failed: ${message}${reason}. Check issuer, url and the clock of this machine`,
    );
  }

  private returnTo(query: URLSearchParams): string {
    return returnAddress(query.get('returnTo'), this.settings.clientUrl, this.settings.prefix);
  }
}

/** Validates the answer in the callback's query before the code goes anywhere. @returns the error */
function checked(query: URLSearchParams, attempt: Attempt | undefined, issuer: string): string | undefined {
  if (!attempt) return 'invalid_state';
  if (query.get('iss') !== issuer) return 'invalid_issuer'; // RFC 9207 §2.4
  const error = query.get('error');
  if (error !== null) return ERROR.test(error) ? error : 'server_error';
  return query.get('code') ? undefined : 'server_error';
}

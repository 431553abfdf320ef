import { randomUUID } from 'node:crypto';
import { LatchkeyError } from '../latchkey-error.js';
import type { AccessTokens, HeldSession } from './access-tokens.js';
import { answer, failurePage, redirect } from './answers.js';
import { Attempts, challengeOf, type Attempt } from './attempts.js';
import type { CookieSeal } from './cookie-seal.js';
import { cookiesOf, setCookie } from './cookies.js';
import { addressOf, headerOf, type PageRequest } from './page-request.js';
import { returnAddress } from './return-to.js';
import type { SessionSettings } from './session-options.js';
import type { TokenCalls } from './token-calls.js';

/** The session's cookie. */
export const COOKIE = '__Host-latchkey';
/** The browser's `device_id` (spec §2.4), which outlives its sessions: a sign-in again is no other device. */
const DEVICE = '__Host-latchkey.device';
const DEVICE_AGE = 400 * 86_400; // seconds; browsers keep no cookie longer (RFC 6265bis §5.5)

/** Parameters of `sign-in` that the service gets. */
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

  /** @param replaced the session that this browser has had */
  async finish(
    request: PageRequest,
    query: URLSearchParams,
    replaced: HeldSession | undefined,
  ): Promise<Response> {
    if (!query.has('code') && !query.has('state')) return this.failure(query);
    const { attempt, cookies } = this.attempts.end(request, query.get('state') ?? '');
    const error = checked(query, attempt, this.settings.issuer);
    if (!attempt || error !== undefined) return this.failed(error ?? 'invalid_state', attempt, cookies);
    try {
      const device = this.deviceOf(request);
      const refreshToken = await this.redeem(request, query.get('code')!, attempt, device);
      if (replaced) await this.replace(replaced);
      return redirect(attempt.returnTo, [
        ...cookies,
        setCookie(COOKIE, this.seal.seal(COOKIE, refreshToken), this.settings.maxAge),
        setCookie(DEVICE, this.seal.seal(DEVICE, device), DEVICE_AGE),
      ]);
    } catch (failure) {
      if (!(failure instanceof LatchkeyError)) throw failure;
      if (failure.code !== 'invalid_grant') this.warn(failure);
      return this.failed(failure.code, attempt, cookies);
    }
  }

  private deviceOf(request: PageRequest): string {
    const value = cookiesOf(request, DEVICE).get(DEVICE);
    return (value && this.seal.open(DEVICE, value)?.text) ?? randomUUID();
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
    const askedAt = this.now();
    const tokens = await this.calls.token('/oauth2/token', body, {
      proofs: this.seal.proofs,
      address: addressOf(request, this.settings.addressHeader),
    });
    const refreshToken = tokens.refresh_token ?? '';
    await this.tokens.add(refreshToken, tokens, askedAt);
    return refreshToken;
  }

  /** A browser has one session. If the service cannot be reached now, the old one stays until it expires, without a cookie. */
  private async replace(session: HeldSession): Promise<void> {
    this.tokens.end(session.refreshToken);
    await this.calls.revoke(session.refreshToken, 'replaced', session).catch(() => undefined);
  }

  /**
   * Leads away from the address with the code. A script in a page could send a frame here with a code for its own verifier, and would read
   * the code from an address that is shown (RFC 10017 §5.1.3).
   */
  private failed(error: string, attempt: Attempt | undefined, cookies: readonly string[]): Response {
    const { clientUrl, prefix, errorPath = `${prefix}/callback` } = this.settings;
    const { pathname, search, hash } = new URL(attempt?.returnTo ?? clientUrl);
    const query = new URLSearchParams({ error, returnTo: pathname + search + hash });
    return redirect(`${clientUrl}${errorPath}?${query.toString()}`, cookies);
  }

  /** The plain page, without an `errorPath`. */
  private failure(query: URLSearchParams): Response {
    const { clientUrl, prefix } = this.settings;
    const { pathname, search, hash } = new URL(this.returnTo(query));
    const retry = new URLSearchParams({ returnTo: pathname + search + hash });
    const code = query.get('error') ?? '';
    const status = code === 'temporarily_unavailable' ? 503 : 400;
    const text = `Signing in did not work${ERROR.test(code) ? ` (${code})` : ''}.`;
    return failurePage(status, text, `${clientUrl}${prefix}/sign-in?${retry.toString()}`);
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

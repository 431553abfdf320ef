import type { ProviderSettings } from '../../platform/config/settings/settings.js';
import { identityOf, isComplete, isUnverified, type Claims } from '../identity/claims.js';
import type {
  AuthorizationRequest,
  AuthorizationUrl,
  ExchangeRequest,
  ProviderAdapter,
  ProviderIdentity,
  UserRequest,
} from '../provider-adapter.js';
import { ProviderRefusal } from '../transport/provider-answer.js';
import { ProviderHttp } from '../transport/provider-http.js';
import { isSafeForBrowsers } from './addresses.js';
import {
  challenge,
  knownPrompt,
  memorized,
  offlineParams,
  randomText,
  staticParams,
  usesPkce,
  verifierOf,
  withParameters,
} from './authorization-request.js';
import { fetchUserinfo, verifyIdToken, type UserClaims } from './id-token.js';
import { discover, OidcClient } from './oidc-client.js';
import { Unsupported, unsupportedIn, usesPar } from './unsupported.js';
import type { Metadata } from './used-members.js';

export interface LogoutRequest {
  /** Address after the sign-out, if the provider's own list has it. */
  readonly redirectUri: string;
  /** The provider's name of the user. */
  readonly hint: string;
  /** ID token of the session, if it was kept. */
  readonly idToken?: string | null;
}

export interface RefreshRequest {
  readonly refreshToken: string;
  /** Receives a new refresh token at once: the provider may not accept the former one any more. */
  readonly rotated: (refreshToken: string) => unknown;
  /** Aborts after 5 s. */
  readonly signal: AbortSignal;
}

const LIFE_MS = 3_600_000; // milliseconds for which a discovery document is used

/**
 * Any OpenID Connect provider, by its issuer (docs/providers.md#openid-connect): authorization code flow with
 * PKCE and nonce.
 */
export class OidcAdapter implements ProviderAdapter {
  private readonly documents = new Map<string, { until: number; metadata: Promise<Metadata> }>();

  /** @param http shared by the service's own adapters; an adapter that extends this class has its own */
  constructor(private readonly http: ProviderHttp = new ProviderHttp()) {}

  /**
   * Fetches and checks the discovery document.
   * @throws Unsupported if no sign-in works, without a code: never prevents the start
   */
  async check(provider: ProviderSettings): Promise<void> {
    await this.metadata(provider);
  }

  async authorizationUrl(
    provider: ProviderSettings,
    { state, redirectUri, params }: AuthorizationRequest,
  ): Promise<AuthorizationUrl> {
    const { options, clientId } = provider;
    const client = await this.clientFor(provider);
    const { metadata } = client;
    const pkce = usesPkce(options, 'on') ? challenge() : undefined;
    const nonce = usesNonce(provider) ? { nonce: randomText() } : undefined;
    const { response_mode: responseMode = 'query', scope = 'openid profile email' } = options;
    const { usual_max_age: usualAge } = options; // of a preset; not required of the ID token
    const wanted: Record<string, string> = { ...staticParams(options), ...params };
    const parameters = {
      ...(usualAge !== undefined && { max_age: usualAge }),
      ...wanted,
      ...knownPrompt(wanted['prompt'], metadata.prompt_values_supported),
      ...offlineParams(provider, { scope, prompt: params?.['prompt'] }, metadata.scopes_supported),
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      state,
      ...(responseMode !== 'query' && { response_mode: responseMode }),
      ...nonce,
      ...pkce?.parameters,
    };
    const sent = usesPar(options, metadata)
      ? { client_id: clientId, request_uri: await client.push(parameters) }
      : parameters;
    const url = withParameters(metadata.authorization_endpoint!, sent);
    return { url, memory: { ...pkce?.memory, ...nonce } };
  }

  async issuer(provider: ProviderSettings): Promise<string> {
    return (await this.metadata(provider)).issuer;
  }

  /** Whether each of its callbacks has an `iss` (RFC 9207 §3). */
  async announcesIssuer(provider: ProviderSettings): Promise<boolean> {
    return (await this.metadata(provider)).authorization_response_iss_parameter_supported === true;
  }

  async exchange(provider: ProviderSettings, request: ExchangeRequest): Promise<ProviderIdentity> {
    const { code, redirectUri, memory, signal, received } = request;
    const { options } = provider;
    const client = await this.clientFor(provider, signal);
    const nonce = memorized('nonce', memory, usesNonce(provider));
    const tokens = await client.requestTokens({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      ...verifierOf(memory, usesPkce(options, 'on')),
    });
    const { idToken, accessToken, refreshToken } = tokens;
    const claims = await verifyIdToken(client, tokens, nonce);
    received?.(claims);
    const all = await this.completed(client, claims, accessToken);
    if (all !== claims) received?.(all);
    const identity = await this.identityOf(provider, all, { signal, ...(accessToken && { accessToken }) });
    const usual = client.metadata.end_session_endpoint === undefined ? 'off' : 'on';
    const keepsToken = (options['keep_id_token'] ?? usual) === 'on';
    return {
      ...identity,
      subject: claims.sub,
      // parseIdentity validates them
      session: claims['sid'] as string,
      auth_time: claims['auth_time'] as number,
      acr: claims['acr'] as string,
      amr: claims['amr'] as string[],
      session_expiry: claims['session_expiry'] as number,
      ...(keepsToken && { id_token: idToken! }),
      ...(provider.offline && refreshToken && { refresh_token: refreshToken }),
    };
  }

  /**
   * Asks about the user of a refresh token again. The ID token is optional then (OpenID Connect Core §12.2).
   * The caller compares the user.
   * @throws ProviderRefusal `invalid_grant` if the provider has ended the access
   */
  async refresh(
    provider: ProviderSettings,
    { refreshToken, rotated, signal }: RefreshRequest,
  ): Promise<ProviderIdentity> {
    const client = await this.clientFor(provider, signal);
    const parameters = { grant_type: 'refresh_token', refresh_token: refreshToken };
    const tokens = await client.requestTokens(parameters).catch((error: unknown) => {
      throw endedBy(error);
    });
    const { idToken, accessToken, refreshToken: next = refreshToken } = tokens;
    if (next !== refreshToken) rotated(next); // before the claims beside it are validated
    if (idToken === undefined && (!accessToken || !client.metadata.userinfo_endpoint)) {
      throw new Error('the provider sent no ID token with the new tokens, and has no userinfo endpoint');
    }
    const claims = idToken === undefined ? undefined : await verifyIdToken(client, tokens, undefined);
    const all = claims
      ? await this.completed(client, claims, accessToken)
      : await fetchUserinfo(client, accessToken!);
    const identity = await this.identityOf(provider, all, { signal, ...(accessToken && { accessToken }) });
    // parseIdentity validates it
    return { ...identity, subject: all.sub, session_expiry: claims?.['session_expiry'] as number };
  }

  /**
   * Returns the identity in verified claims: those of the ID token, with those of the userinfo endpoint if it
   * was asked.
   */
  identityOf(
    { options }: ProviderSettings,
    claims: Claims,
    _request: UserRequest,
  ): ProviderIdentity | Promise<ProviderIdentity> {
    return identityOf(claims, options) as ProviderIdentity; // parseIdentity validates it
  }

  /** Whether the claims of the ID token are enough, so that the userinfo endpoint is not asked. */
  isComplete({ options }: ProviderSettings, claims: Claims): boolean {
    return isComplete(claims, options);
  }

  /**
   * Returns the provider's sign-out page (OpenID Connect RP-Initiated Logout 1.0 §2), or undefined if it has
   * none.
   * @throws if its address is not http(s), or http while the issuer is https
   */
  async logoutUrl(provider: ProviderSettings, request: LogoutRequest): Promise<URL | undefined> {
    const { redirectUri, hint, idToken } = request;
    const metadata = await this.metadata(provider);
    const { end_session_endpoint: address, issuer } = metadata;
    if (address === undefined) return undefined;
    if (!isSafeForBrowsers(address, issuer)) throw new Error('the end_session_endpoint is not https');
    return withParameters(address, {
      client_id: provider.clientId,
      post_logout_redirect_uri: redirectUri,
      logout_hint: hint,
      ...(idToken && { id_token_hint: idToken }),
    });
  }

  /** Adds the claims of the userinfo endpoint, if those of the ID token are not enough. */
  private async completed(client: OidcClient, claims: UserClaims, accessToken: string | undefined) {
    const { provider, metadata } = client;
    const hasUserinfo = accessToken !== undefined && metadata.userinfo_endpoint !== undefined;
    if (!hasUserinfo || this.isComplete(provider, claims)) return claims;
    const more = await fetchUserinfo(client, accessToken, claims.sub);
    // One of the two may call the address unverified, the other not mention it, or be older.
    const doubt = isUnverified(more) ? { email_verified: false } : {};
    // A flag is about the address beside it.
    const isOther = claims['email'] !== undefined && claims['email'] !== more['email'];
    const { email_verified, ...others } = more;
    return { ...(isOther ? others : { ...others, email_verified }), ...claims, ...doubt };
  }

  private async clientFor(provider: ProviderSettings, signal?: AbortSignal): Promise<OidcClient> {
    return new OidcClient(this.http, provider, await this.metadata(provider), signal);
  }

  /**
   * Returns the discovery document, kept for an hour, but not after a failure. Concurrent calls share one
   * request.
   */
  private metadata(provider: ProviderSettings): Promise<Metadata> {
    const cached = this.documents.get(provider.name);
    if (cached && cached.until > Date.now()) return cached.metadata;
    const metadata = discoverUsable(this.http, provider);
    const entry = { until: Date.now() + LIFE_MS, metadata };
    this.documents.set(provider.name, entry);
    metadata.catch(() => {
      if (this.documents.get(provider.name) === entry) this.documents.delete(provider.name);
    });
    return metadata;
  }
}

async function discoverUsable(http: ProviderHttp, provider: ProviderSettings): Promise<Metadata> {
  const metadata = await discover(http, provider);
  const found = unsupportedIn(metadata, provider);
  if (found.length > 0) throw new Unsupported(provider.name, found);
  return metadata;
}

/** Codes of OpenID Connect Core §3.1.2.6 that Entra ID sends to a refresh: only the user can go on. */
const NEEDS_USER: ReadonlySet<unknown> = new Set([
  'interaction_required',
  'login_required',
  'consent_required',
]);

function endedBy(error: unknown): unknown {
  if (!(error instanceof ProviderRefusal) || !NEEDS_USER.has(error.error)) return error;
  return new ProviderRefusal('invalid_grant', 'the provider wants the user to sign in', error.call);
}

function usesNonce({ options }: ProviderSettings): boolean {
  return options['nonce'] !== 'off';
}

import { hash } from 'node:crypto';
import { decodeProtectedHeader } from 'jose';
import * as client from 'openid-client';
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
import { configure, discover, withoutSecrets } from './oidc-client.js';
import {
  challenge,
  knownPrompt,
  memorized,
  offlineParams,
  staticParams,
  usesPkce,
  verifierOf,
} from './authorization-request.js';
import { advice, Unsupported, unsupportedIn, usesPar } from './unsupported.js';
import { verifySignature } from './id-token.js';
import { accessTokenIn, ORIGINAL } from './used-members.js';

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
  private readonly documents = new Map<string, { until: number; metadata: Promise<client.ServerMetadata> }>();

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
    const metadata = await this.metadata(provider);
    const configuration = await configure(this.http, provider, metadata);
    const pkce = usesPkce(provider.options, 'on') ? challenge() : undefined;
    const nonce = usesNonce(provider) ? { nonce: client.randomNonce() } : undefined;
    const { response_mode: responseMode = 'query', scope = 'openid profile email' } = provider.options;
    const { usual_max_age: usualAge } = provider.options; // of a preset; not required of the ID token
    const offline = offlineParams(provider, { scope, prompt: params?.['prompt'] }, metadata.scopes_supported);
    const wanted: Record<string, string> = { ...staticParams(provider.options), ...params };
    const parameters = {
      ...(usualAge !== undefined && { max_age: usualAge }),
      ...wanted,
      ...knownPrompt(wanted['prompt'], metadata['prompt_values_supported']),
      ...offline,
      redirect_uri: redirectUri,
      state,
      ...(responseMode !== 'query' && { response_mode: responseMode }),
      ...nonce,
      ...pkce?.parameters,
    };
    const url = usesPar(provider.options, metadata)
      ? await client.buildAuthorizationUrlWithPAR(configuration, parameters).catch((error: unknown) => {
          throw withoutSecrets(error);
        })
      : client.buildAuthorizationUrl(configuration, parameters);
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
    const metadata = await this.metadata(provider);
    const { signal } = request;
    const configuration = await configure(this.http, provider, metadata, signal);
    const { claims, names, accessToken } = await this.redeem(configuration, provider, request).catch(
      (error: unknown) => {
        throw explained(provider.name, error);
      },
    );
    const identity = await this.identityOf(provider, claims, { signal, ...(accessToken && { accessToken }) });
    return { ...identity, ...names };
  }

  /**
   * Asks about the user of a refresh token again. The caller compares the user.
   * @throws ProviderRefusal `invalid_grant` if the provider has ended the access
   */
  async refresh(provider: ProviderSettings, request: RefreshRequest): Promise<ProviderIdentity> {
    const metadata = await this.metadata(provider);
    const { signal } = request;
    const configuration = await configure(this.http, provider, metadata, signal);
    const { claims, subject, sessionExpiry, accessToken } = await this.redeemAgain(
      configuration,
      provider,
      request,
    ).catch((error: unknown) => {
      throw endedBy(explained(provider.name, error));
    });
    const identity = await this.identityOf(provider, claims, { signal, ...(accessToken && { accessToken }) });
    return { ...identity, subject, session_expiry: sessionExpiry as number }; // parseIdentity validates them
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
    return client.buildEndSessionUrl(await configure(this.http, provider, metadata), {
      post_logout_redirect_uri: redirectUri,
      logout_hint: hint,
      ...(idToken && { id_token_hint: idToken }),
    });
  }

  /** @returns the claims, those of the ID token alone for `names` */
  private async redeem(library: client.Configuration, provider: ProviderSettings, request: ExchangeRequest) {
    const { code, redirectUri, memory, signal, received } = request;
    const { options } = provider;
    const { end_session_endpoint: logout } = library.serverMetadata();
    const nonce = memorized('nonce', memory, usesNonce(provider));
    // Not authorizationCodeGrant(), which loses the query of the redirect URI. The library validates iss, aud
    // and exp.
    const tokens = await client.genericGrantRequest(library, 'authorization_code', {
      code,
      redirect_uri: redirectUri,
      ...verifierOf(memory, usesPkce(options, 'on')),
    });
    const { idToken, claims } = await verify(library, provider, tokens, { nonce, signal });
    received?.(claims);
    const keepsToken = (options['keep_id_token'] ?? (logout === undefined ? 'off' : 'on')) === 'on';
    const names = {
      subject: claims.sub,
      // parseIdentity validates them
      session: claims['sid'] as string,
      auth_time: claims.auth_time as number,
      acr: claims['acr'] as string,
      amr: claims['amr'] as string[],
      session_expiry: claims['session_expiry'] as number,
      ...(keepsToken && { id_token: idToken }),
      ...(provider.offline && tokens.refresh_token && { refresh_token: tokens.refresh_token }),
    };
    const accessToken = accessTokenIn(tokens);
    const all = await this.completed(library, provider, claims, accessToken);
    if (all !== claims) received?.(all);
    return { claims: all, names, accessToken };
  }

  /** Asks with a refresh token. The ID token is optional then (OpenID Connect Core §12.2). */
  private async redeemAgain(
    library: client.Configuration,
    provider: ProviderSettings,
    { refreshToken, rotated, signal }: RefreshRequest,
  ) {
    watchRotation(library, (token) => token !== refreshToken && rotated(token));
    const tokens = await client.genericGrantRequest(library, 'refresh_token', {
      refresh_token: refreshToken,
    });
    const accessToken = accessTokenIn(tokens);
    if (tokens[ORIGINAL] === undefined) {
      if (!accessToken || !library.serverMetadata().userinfo_endpoint) {
        throw new Error('the provider sent no ID token with the new tokens, and has no userinfo endpoint');
      }
      client.enableNonRepudiationChecks(library);
      const user = await userinfoOf(library, provider, accessToken, client.skipSubjectCheck);
      return { claims: user, subject: user.sub, sessionExpiry: undefined, accessToken };
    }
    const { claims } = await verify(library, provider, tokens, { nonce: undefined, signal });
    const all = await this.completed(library, provider, claims, accessToken);
    return { claims: all, subject: claims.sub, sessionExpiry: claims['session_expiry'], accessToken };
  }

  /** Adds the claims of the userinfo endpoint, if those of the ID token are not enough. */
  private async completed(
    library: client.Configuration,
    provider: ProviderSettings,
    claims: client.IDToken,
    accessToken: string | undefined,
  ): Promise<Claims> {
    const { userinfo_endpoint: userinfo } = library.serverMetadata();
    if (this.isComplete(provider, claims) || !accessToken || !userinfo) return claims;
    const more = await userinfoOf(library, provider, accessToken, claims.sub); // compares sub
    // One of the two may call the address unverified, the other not mention it, or be older.
    const doubt = isUnverified(more) ? { email_verified: false } : {};
    // A flag is about the address beside it.
    const isOther = claims['email'] !== undefined && claims['email'] !== more.email;
    const { email_verified, ...others } = more;
    return { ...(isOther ? others : { ...others, email_verified }), ...claims, ...doubt };
  }

  /**
   * Returns the discovery document, kept for an hour, but not after a failure. Concurrent calls share one
   * request.
   */
  private metadata(provider: ProviderSettings): Promise<client.ServerMetadata> {
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

async function discoverUsable(http: ProviderHttp, provider: ProviderSettings) {
  try {
    const metadata = await discover(http, provider);
    const found = unsupportedIn(metadata, provider);
    if (found.length > 0) throw new Unsupported(provider.name, found);
    return metadata;
  } catch (error) {
    throw withoutSecrets(error);
  }
}

/** Error of a sign-in, with advice if openid-client's message shows the cause. */
function explained(name: string, error: unknown, token: 'idToken' | 'userinfo' = 'idToken'): Error {
  const known = withoutSecrets(error);
  if (known instanceof Unsupported) return known;
  const { message } = known;
  const isEncrypted = message.includes('JWE decryption is not configured');
  if (!isEncrypted && !/JWT "alg" header parameter|unsupported JWS algorithm|Unsupported "alg"/.test(message))
    return known;
  return new Unsupported(name, [
    new Error(advice(`${token}${isEncrypted ? 'Encryption' : 'Signature'}`, message)),
  ]);
}

/** Verifies the ID token of an answer. @param nonce of the sign-in; undefined: none was sent */
async function verify(
  library: client.Configuration,
  provider: ProviderSettings,
  tokens: Tokens,
  { nonce, signal }: { readonly nonce: string | undefined; readonly signal: AbortSignal },
) {
  const idToken = originalOf(tokens);
  await verifySignature(library, idToken, signal);
  client.enableNonRepudiationChecks(library); // for userinfo that is signed
  const claims = checkIdToken(tokens, nonce);
  checkTenant(provider, claims);
  return { idToken, claims };
}

async function userinfoOf(
  library: client.Configuration,
  provider: ProviderSettings,
  accessToken: string,
  subject: string | typeof client.skipSubjectCheck,
): Promise<client.UserInfoResponse> {
  return client.fetchUserInfo(library, accessToken, subject).catch((error: unknown) => {
    throw explained(provider.name, error, 'userinfo');
  });
}

/** Reports a refresh token before the library validates the claims beside it. */
function watchRotation(library: client.Configuration, report: (refreshToken: string) => unknown): void {
  const send = library[client.customFetch]!;
  library[client.customFetch] = async (url, options) => {
    const response = await send(url, options);
    if (options.method !== 'POST') return response;
    const { refresh_token: token } = (await response.clone().json()) as { refresh_token?: string };
    if (token !== undefined) report(token);
    return response;
  };
}

/** Codes of OpenID Connect Core §3.1.2.6 that Entra ID sends to a refresh: only the user can go on. */
const NEEDS_USER: ReadonlySet<unknown> = new Set([
  'interaction_required',
  'login_required',
  'consent_required',
]);

function endedBy(error: Error): Error {
  if (!(error instanceof ProviderRefusal) || !NEEDS_USER.has(error.error)) return error;
  return new ProviderRefusal('invalid_grant', 'the provider wants the user to sign in', error.call);
}

function usesNonce({ options }: ProviderSettings): boolean {
  return options['nonce'] !== 'off';
}

/**
 * The library compared `iss` with the tenant before.
 * @throws ProviderRefusal for a tenant that is not in the settings
 */
function checkTenant({ url, options }: ProviderSettings, { tid }: client.IDToken): void {
  const allowed = options['tenants']?.split(',').map((id) => id.trim().toLowerCase());
  if (!allowed || (typeof tid === 'string' && allowed.includes(tid.toLowerCase()))) return;
  const tenant = typeof tid === 'string' && /^[\da-f-]{36}$/i.test(tid) ? tid : 'without a usable id';
  const message = `the user is of the tenant ${tenant}, which is not in tenants`;
  throw new ProviderRefusal('invalid_grant', message, { url: url!, settings: ['tenants'] });
}

type Tokens = Awaited<ReturnType<typeof client.genericGrantRequest>>;

function originalOf(tokens: Tokens): string {
  const original = tokens[ORIGINAL];
  if (typeof original === 'string' && tokens.claims()) return original;
  throw new Error('the provider sent no ID token; is openid in the scope?');
}

/** Checks that the ID token belongs to this sign-in and to this access token. */
function checkIdToken(tokens: Tokens, nonce: string | undefined): client.IDToken {
  const claims = tokens.claims()!;
  if (nonce !== undefined && claims.nonce === undefined) throw new Error('the ID token has no nonce');
  // The code belongs to another sign-in (RFC 9700 §4.5.3.2).
  if (nonce !== undefined && claims.nonce !== nonce)
    throw new ProviderRefusal('invalid_grant', 'the nonce is of another sign-in');
  const [atHash, accessToken] = [claims['at_hash'], accessTokenIn(tokens)];
  if (atHash === undefined || accessToken === undefined) return claims;
  if (!atHashMatches(tokens.id_token!, accessToken, atHash)) {
    throw new Error('the at_hash of the ID token is not the one of the access token');
  }
  return claims;
}

/**
 * Whether `at_hash` belongs to the access token (OpenID Connect Core §3.1.3.6), which openid-client does not
 * check.
 * @param idToken is verified
 */
export function atHashMatches(idToken: string, accessToken: string, atHash: unknown): boolean {
  const { alg } = decodeProtectedHeader(idToken);
  const size = /256|384/.exec(alg ?? '')?.[0] ?? '512'; // Ed25519 uses SHA-512
  const digest = hash(`sha${size}`, accessToken, 'buffer');
  return digest.subarray(0, digest.length / 2).toString('base64url') === atHash;
}

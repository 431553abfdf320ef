import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { decodeProtectedHeader } from 'jose';
import * as client from 'openid-client';
import type { ProviderSettings } from '../../config/settings/settings.js';
import { identityOf, isComplete } from '../identity/claims.js';
import { callsUnverified } from '../identity/identity.js';
import type {
  AdapterMemory,
  AuthorizationRequest,
  AuthorizationUrl,
  ExchangeRequest,
  ProviderAdapter,
  ProviderIdentity,
} from '../provider-adapter.js';
import { ProviderRefusal } from '../transport/provider-answer.js';
import { ProviderHttp } from '../transport/provider-http.js';
import { configure, discover, withoutSecrets } from './oidc-client.js';
import { challenge, usesPkce, verifierOf } from './provider-pkce.js';
import { advice, Unsupported, unsupportedIn } from './unsupported.js';
import { accessTokenIn } from './used-members.js';

/** What its end of a session is told. */
export interface LogoutRequest {
  /** Where it sends the browser afterwards, if it is on its own list. */
  readonly redirectUri: string;
  /** Who signs out, in the provider's own words. */
  readonly hint: string;
}

/** Milliseconds for which a discovery document is used. */
const LIFE = 3_600_000;

/** Any OpenID Connect provider, by its issuer (contract §6): authorization code flow, with PKCE and a nonce unless the settings say `off`. */
@Injectable()
export class OidcAdapter implements ProviderAdapter {
  private readonly kept = new Map<
    string,
    { readonly until: number; metadata: Promise<client.ServerMetadata> }
  >();

  constructor(private readonly http: ProviderHttp) {}

  /**
   * Looks at the discovery document, which is then there for the first sign-in.
   * @throws Unsupported when it shows that nobody can sign in: no code of spec §7.3, so that what another party
   *   publishes never keeps the service from starting
   */
  async check(provider: ProviderSettings): Promise<void> {
    await this.metadata(provider);
  }

  async authorizationUrl(
    provider: ProviderSettings,
    { state, redirectUri }: AuthorizationRequest,
  ): Promise<AuthorizationUrl> {
    const configuration = configure(this.http, provider, await this.metadata(provider));
    const pkce = usesPkce(provider.options, 'on') ? challenge() : undefined;
    const nonce = usesNonce(provider) ? { nonce: client.randomNonce() } : undefined;
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: provider.options['scope'] ?? 'openid profile email',
      state,
      ...nonce,
      ...pkce?.parameters,
    });
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
    const configuration = configure(this.http, provider, metadata, request.signal);
    try {
      return (await this.redeem(configuration, provider, request)) as ProviderIdentity;
    } catch (error) {
      throw explained(provider, error);
    }
  }

  /**
   * Where the browser ends the user's session with the provider (OpenID Connect RP-Initiated Logout 1.0 §2). `client_id` lets it
   * compare the redirect URI, since there is no `id_token_hint`.
   * @returns undefined where its discovery document names no such place
   * @throws when that is no address to send a browser to: not http(s), or http where the issuer is https
   */
  async logoutUrl(
    provider: ProviderSettings,
    { redirectUri, hint }: LogoutRequest,
  ): Promise<URL | undefined> {
    const metadata = await this.metadata(provider);
    if (metadata.end_session_endpoint === undefined) return undefined;
    return client.buildEndSessionUrl(configure(this.http, provider, metadata), {
      post_logout_redirect_uri: redirectUri,
      logout_hint: hint,
    });
  }

  private async redeem(
    configuration: client.Configuration,
    provider: ProviderSettings,
    { code, redirectUri, memory }: ExchangeRequest,
  ): Promise<Partial<ProviderIdentity>> {
    const { options } = provider;
    const nonce = nonceOf(memory, usesNonce(provider));
    // Not authorizationCodeGrant(): it would take the redirect URI from a URL, without its query.
    // The library checks iss, aud, exp and the signature of the ID token.
    const tokens = await client.genericGrantRequest(configuration, 'authorization_code', {
      code,
      redirect_uri: redirectUri,
      ...verifierOf(memory, usesPkce(options, 'on')),
    });
    const claims = checkIdToken(tokens, nonce);
    const names = { subject: claims.sub, session: claims['sid'] as string }; // judged by parseIdentity, as the rest
    const identity = { ...identityOf(claims, options), ...names };
    const accessToken = accessTokenIn(tokens);
    if (isComplete(claims, options) || accessToken === undefined) return identity;
    if (!configuration.serverMetadata().userinfo_endpoint) return identity;
    const more = await client
      .fetchUserInfo(configuration, accessToken, claims.sub) // compares sub
      .catch((error: unknown) => {
        throw explained(provider, error, 'userinfo');
      });
    // Either of the two may call the address unverified: the other may not mention it, or be older.
    const doubt = callsUnverified(more) ? { email_verified: false } : {};
    return { ...identityOf({ ...more, ...claims, ...doubt }, options), ...names };
  }

  /**
   * The discovery document: fetched when first needed, so that a provider that is away affects no other; kept for an hour, and
   * fetched again after every failure. Concurrent calls share one request.
   */
  private metadata(provider: ProviderSettings): Promise<client.ServerMetadata> {
    const kept = this.kept.get(provider.name);
    if (kept && kept.until > Date.now()) return kept.metadata;
    const metadata = discoverUsable(this.http, provider);
    const entry = { until: Date.now() + LIFE, metadata };
    this.kept.set(provider.name, entry);
    metadata.catch(() => {
      if (this.kept.get(provider.name) === entry) this.kept.delete(provider.name);
    });
    return metadata;
  }
}

/** A document of a provider that cannot be used fails, and so is not kept: what was changed there counts at once. */
async function discoverUsable(
  http: ProviderHttp,
  provider: ProviderSettings,
): Promise<client.ServerMetadata> {
  try {
    const metadata = await discover(http, provider);
    const found = unsupportedIn(metadata, provider.options);
    if (found.length > 0) throw new Unsupported(provider.name, found);
    return metadata;
  } catch (error) {
    throw withoutSecrets(error);
  }
}

/** An error of a sign-in, with what to change at the provider if openid-client's words show it. */
function explained(
  { name }: ProviderSettings,
  error: unknown,
  token: 'idToken' | 'userinfo' = 'idToken',
): Error {
  const known = withoutSecrets(error);
  if (known instanceof Unsupported) return known;
  const { message } = known;
  const isEncrypted = message.includes('JWE decryption is not configured');
  if (!isEncrypted && !/JWT "alg" header parameter|unsupported JWS algorithm/.test(message)) return known;
  return new Unsupported(name, [
    new Error(advice(`${token}${isEncrypted ? 'Encryption' : 'Signature'}`, message)),
  ]);
}

function usesNonce({ options }: ProviderSettings): boolean {
  return options['nonce'] !== 'off';
}

/** The nonce that the authorization request had. @throws if one is needed and the state has none */
function nonceOf(memory: AdapterMemory | undefined, isOn: boolean): string | undefined {
  const nonce = memory?.['nonce'];
  if (typeof nonce === 'string') return nonce;
  if (isOn) throw new Error('the sign-in was begun with another adapter or setting');
  return undefined;
}

type Tokens = Awaited<ReturnType<typeof client.genericGrantRequest>>;

/** What remains to be checked about an ID token: that it is there, and belongs to this sign-in and this access token. */
function checkIdToken(tokens: Tokens, nonce: string | undefined): client.IDToken {
  const claims = tokens.claims();
  if (!claims || !tokens.id_token) throw new Error('the provider sent no ID token; is openid in the scope?');
  if (nonce !== undefined && claims.nonce === undefined) throw new Error('the ID token has no nonce');
  // Not the provider's mistake: the code belongs to another sign-in (RFC 9700 §4.5.3.2), so it is no valid grant here.
  if (nonce !== undefined && claims.nonce !== nonce)
    throw new ProviderRefusal('invalid_grant', 'the nonce is of another sign-in');
  const [atHash, accessToken] = [claims['at_hash'], accessTokenIn(tokens)];
  if (atHash === undefined || accessToken === undefined) return claims;
  if (!atHashMatches(tokens.id_token, accessToken, atHash)) {
    throw new Error('the at_hash of the ID token is not the one of the access token');
  }
  return claims;
}

/**
 * Whether an ID token's `at_hash` belongs to its access token (OpenID Connect Core §3.1.3.6): the left half of the hash that the
 * token's own algorithm uses. openid-client leaves this to its caller.
 *
 * @param idToken a JWT whose signature has been verified
 */
export function atHashMatches(idToken: string, accessToken: string, atHash: unknown): boolean {
  const { alg } = decodeProtectedHeader(idToken);
  const size = /256|384/.exec(alg ?? '')?.[0] ?? '512'; // Ed25519 uses SHA-512
  const hash = createHash(`sha${size}`).update(accessToken).digest();
  return hash.subarray(0, hash.length / 2).toString('base64url') === atHash;
}

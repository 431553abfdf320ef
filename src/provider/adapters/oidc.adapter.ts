import { Injectable } from '@nestjs/common';
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
import { atHashMatches } from './at-hash.js';
import { judgeMetadata } from './judge-metadata.js';
import { configure, discover } from './oidc-client.js';
import { OidcDiscovery } from './oidc-discovery.js';
import { withoutSecrets } from './oidc-error.js';
import { challenge, usesPkce, verifierOf } from './provider-pkce.js';
import { Unsupported, UnsupportedProvider } from './unsupported.js';
import { accessTokenIn } from './used-members.js';

/** What its end of a session is told. */
export interface LogoutRequest {
  /** Where it sends the browser afterwards, if it is on its own list. */
  readonly redirectUri: string;
  /** Who signs out, in the provider's own words. */
  readonly hint: string;
}

/** Any OpenID Connect provider, by its issuer (contract §6): authorization code flow, with PKCE and a nonce unless the settings say `off`. */
@Injectable()
export class OidcAdapter implements ProviderAdapter {
  private readonly discovery: OidcDiscovery;

  constructor(private readonly http: ProviderHttp) {
    this.discovery = new OidcDiscovery((provider) => discoverUsable(http, provider));
  }

  /**
   * Looks at the discovery document, which is then there for the first sign-in.
   * @throws UnsupportedProvider when it shows that nobody can sign in: no code of spec §7.3, so that what another party
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
    const more = await client.fetchUserInfo(configuration, accessToken, claims.sub); // compares sub
    // Either of the two may call the address unverified: the other may not mention it, or be older.
    const doubt = callsUnverified(more) ? { email_verified: false } : {};
    return { ...identityOf({ ...more, ...claims, ...doubt }, options), ...names };
  }

  private metadata(provider: ProviderSettings): Promise<client.ServerMetadata> {
    return this.discovery.of(provider).catch((error: unknown) => {
      throw explained(provider, error);
    });
  }
}

/** A document of a provider that cannot be used fails, and so is not kept: what was changed there counts at once. */
async function discoverUsable(
  http: ProviderHttp,
  provider: ProviderSettings,
): Promise<client.ServerMetadata> {
  const metadata = await discover(http, provider);
  const found = judgeMetadata(metadata, provider.options);
  if (found.length > 0) throw new UnsupportedProvider(provider.name, found);
  return metadata;
}

function explained({ name }: ProviderSettings, error: unknown): Error {
  const known = withoutSecrets(error);
  return known instanceof Unsupported ? new UnsupportedProvider(name, [known]) : known;
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

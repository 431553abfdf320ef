import { setImmediate as tick } from 'node:timers/promises';
import type { ProviderSettings } from '../../platform/config/settings/settings.js';
import { identityOf, type Claims } from '../identity/claims.js';
import type {
  AuthorizationRequest,
  ExchangeRequest,
  ProviderAdapter,
  ProviderIdentity,
  UserRequest,
} from '../provider-adapter.js';
import { badAnswer, PRODUCT_CODES, readAnswer, readObject } from '../transport/provider-answer.js';
import { ProviderHttp, type ProviderResponse } from '../transport/provider-http.js';
import { authenticate } from './client-authentication.js';
import { challenge, staticParams, usesPkce, verifierOf, withParameters } from './authorization-request.js';

/** Plain OAuth 2.0 provider (RFC 6749 §4.1) with a userinfo URL (docs/providers.md#plain-oauth-20). */
export class OAuth2Adapter implements ProviderAdapter {
  constructor(private readonly http: ProviderHttp = new ProviderHttp()) {}

  authorizationUrl(provider: ProviderSettings, { state, redirectUri, params }: AuthorizationRequest) {
    const { scope } = provider.options;
    const pkce = usesPkce(provider.options, 'on') ? challenge() : undefined;
    const parameters = {
      ...staticParams(provider.options),
      ...params,
      response_type: 'code',
      client_id: provider.clientId,
      redirect_uri: redirectUri,
      ...(scope !== undefined && { scope }),
      state,
      ...pkce?.parameters, // ignored by providers without PKCE (RFC 6749 §3.1)
    };
    const url = withParameters(option(provider, 'authorize_url'), parameters);
    return pkce ? { url, memory: pkce.memory } : url;
  }

  async exchange(provider: ProviderSettings, request: ExchangeRequest): Promise<ProviderIdentity> {
    const accessToken = await this.requestToken(provider, request);
    await tick(); // the connection is free again: the next request needs no handshake
    const answer = await this.http.send({
      url: option(provider, 'userinfo_url'),
      headers: { Authorization: `Bearer ${accessToken}` },
      signal: request.signal,
    });
    // The code was valid, so an error of the userinfo URL is not the client's fault.
    if (answer.status !== 200) {
      throw badAnswer(`the userinfo URL answered with status ${answer.status}`, answer);
    }
    const user = readObject(answer);
    request.received?.(user);
    return this.identityOf(provider, user, { accessToken, signal: request.signal });
  }

  identityOf(
    { options }: ProviderSettings,
    user: Claims,
    _request: UserRequest,
  ): ProviderIdentity | Promise<ProviderIdentity> {
    return identityOf(user, options) as ProviderIdentity; // parseIdentity validates it
  }

  private async requestToken(
    provider: ProviderSettings,
    { code, redirectUri, memory, signal }: ExchangeRequest,
  ): Promise<string> {
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      ...verifierOf(memory, usesPkce(provider.options, 'on')),
    });
    const url = option(provider, 'token_url');
    const server = { issuer: provider.issuer ?? url, token_endpoint: url };
    const headers = await authenticate(provider, server, form, 'client_secret_post');
    const answer = await this.http.send({ url, headers, body: form.toString(), signal });
    return readToken(answer);
  }
}

/**
 * Returns the access token of an answer (RFC 6749 §5.1); other members are ignored.
 * @throws as `readAnswer`
 */
function readToken(answer: ProviderResponse): string {
  const { access_token: token, token_type: type } = readAnswer(answer, PRODUCT_CODES);
  // RFC 6749 §A.12: visible characters and spaces.
  if (typeof token !== 'string' || !/^[\x20-\x7e]+$/.test(token)) {
    throw badAnswer('the token URL answered with no usable access_token', answer);
  }
  // RFC 6749 §7.1: a token of another type must not be sent as a bearer token. A value that is no name is
  // ignored.
  if (typeof type === 'string' && /^[a-z][\w-]*$/i.test(type) && type.toLowerCase() !== 'bearer') {
    throw badAnswer('the token URL answered with a token_type that is not bearer', answer);
  }
  return token;
}

function option({ name, options }: ProviderSettings, key: string): string {
  const value = options[key];
  if (value === undefined) throw new Error(`providers.${name}.${key} is unset`);
  return value;
}

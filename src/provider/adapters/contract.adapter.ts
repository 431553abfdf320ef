import { siblingVariable } from '../../platform/config/providers/provider-variables.js';
import type { ProviderSettings } from '../../platform/config/settings/settings.js';
import { mappedClaims } from '../identity/claims.js';
import type {
  AuthorizationRequest,
  ExchangeRequest,
  ProviderAdapter,
  ProviderIdentity,
} from '../provider-adapter.js';
import { isHttpUrl } from '../identity/identity.js';
import { readAnswer } from '../transport/provider-answer.js';
import { ProviderHttp } from '../transport/provider-http.js';
import { challenge, usesPkce, verifierOf } from './authorization-request.js';

const CHECK_MS = 4000; // milliseconds for the discovery document; less than the whole check has

/** Default adapter: spec §4.5, byte for byte; with the setting `pkce`, RFC 7636 as well. */
export class ContractAdapter implements ProviderAdapter {
  constructor(private readonly http: ProviderHttp) {}

  /**
   * Finds a provider of OpenID Connect if the setting `adapter` is absent.
   * @throws an Error that names the settings it needs
   */
  async check(provider: ProviderSettings): Promise<void> {
    if (!provider.isDefaultAdapter) return;
    const issuer = await this.issuerOf(provider).catch(() => undefined);
    if (issuer === undefined) return;
    const [adapter, url] = ['adapter', 'url'].map((key) => siblingVariable(provider.variables.adapter, key));
    const isOther = issuer.replace(/\/$/, '') !== provider.url;
    throw new Error(
      `it is an OpenID Connect provider: set ${adapter} to oidc${isOther ? `, and ${url} to ${issuer}` : ''}`,
    );
  }

  private async issuerOf(provider: ProviderSettings): Promise<string | undefined> {
    const url = `${provider.url}/.well-known/openid-configuration`;
    const answer = await this.http.send({ url, signal: AbortSignal.timeout(CHECK_MS) });
    const { issuer, authorization_endpoint: page } = readAnswer(answer);
    return isHttpUrl(issuer) && typeof page === 'string' ? issuer : undefined;
  }

  /** spec §4.5.1. */
  authorizationUrl(provider: ProviderSettings, { state, redirectUri }: AuthorizationRequest) {
    const { parameters, memory } = usesPkce(provider.options, 'off') ? challenge() : {};
    const own = { state, client_id: provider.clientId, redirect_uri: redirectUri };
    const query = new URLSearchParams({ ...own, ...parameters });
    const url = new URL(`${provider.url}/oauth2/authorize?${query.toString()}`);
    return memory ? { url, memory } : url;
  }

  /** spec §4.5.2. */
  async exchange(
    provider: ProviderSettings,
    { code, redirectUri, memory, signal, received }: ExchangeRequest,
  ): Promise<ProviderIdentity> {
    const form = new URLSearchParams({
      client_id: provider.clientId,
      client_secret: provider.clientSecret,
      code,
      redirect_uri: redirectUri,
      ...verifierOf(memory, usesPkce(provider.options, 'off')),
    });
    const answer = await this.http.send({
      url: `${provider.internalUrl ?? provider.url}/oauth2/token/exchange`,
      body: form.toString(),
      signal,
      direct: provider.internalUrl !== undefined,
    });
    const identity = readAnswer(answer);
    received?.(identity);
    const claims = mappedClaims(identity, provider.options) ?? identity['claims'];
    return { ...identity, claims } as unknown as ProviderIdentity; // parseIdentity validates it
  }
}

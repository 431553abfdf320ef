import { Injectable } from '@nestjs/common';
import type { ProviderSettings } from '../../config/settings/settings.js';
import { mappedClaims } from '../identity/claims.js';
import type {
  AuthorizationRequest,
  AuthorizationUrl,
  ExchangeRequest,
  ProviderAdapter,
  ProviderIdentity,
} from '../provider-adapter.js';
import { readAnswer } from '../transport/provider-answer.js';
import { ProviderHttp } from '../transport/provider-http.js';
import { challenge, usesPkce, verifierOf } from './authorization-request.js';

/** Default adapter: spec §4.5, byte for byte; with the setting `pkce`, RFC 7636 as well. */
@Injectable()
export class ContractAdapter implements ProviderAdapter {
  constructor(private readonly http: ProviderHttp) {}

  /** spec §4.5.1. */
  authorizationUrl(
    provider: ProviderSettings,
    { state, redirectUri }: AuthorizationRequest,
  ): AuthorizationUrl {
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
      method: 'POST',
      url: `${provider.internalUrl ?? provider.url}/oauth2/token/exchange`,
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', Accept: 'application/json' },
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

import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import axios from 'axios';
import type { ProviderSettings } from '../../config/settings.js';
import type {
  AuthorizationRequest,
  ExchangeRequest,
  ProviderAdapter,
  ProviderIdentity,
} from '../provider-adapter.js';

const LARGEST_ANSWER = 64 * 1024;
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

// An idle connection is dropped before the usual server drops it (5 s): a code is never sent into a closing one.
const KEEP_ALIVE = { keepAlive: true, timeout: 4000 };

/** The default adapter: spec §4.5, byte for byte. */
@Injectable()
export class ContractAdapter implements ProviderAdapter, OnApplicationShutdown {
  private readonly httpAgent = new HttpAgent(KEEP_ALIVE);
  private readonly httpsAgent = new HttpsAgent(KEEP_ALIVE);
  private readonly http = axios.create({
    adapter: 'http',
    httpAgent: this.httpAgent,
    httpsAgent: this.httpsAgent,
    maxRedirects: 0, // the client secret goes to the configured address and nowhere else
    maxContentLength: LARGEST_ANSWER,
    responseType: 'arraybuffer',
    validateStatus: () => true,
    transformRequest: [(body: string) => body], // axios would append a charset
  });

  /** spec §4.5.1: the fixed path, and state, client_id and redirect_uri. */
  authorizationUrl(provider: ProviderSettings, { state, redirectUri }: AuthorizationRequest): URL {
    const url = new URL(`${provider.url}/oauth2/authorize`);
    url.search = new URLSearchParams({
      state,
      client_id: provider.clientId,
      redirect_uri: redirectUri,
    }).toString();
    return url;
  }

  /** spec §4.5.2: the server-to-server exchange. */
  async exchange(
    provider: ProviderSettings,
    { code, redirectUri, signal }: ExchangeRequest,
  ): Promise<ProviderIdentity> {
    const url = new URL(`${provider.internalUrl ?? provider.url}/oauth2/token/exchange`);
    const form = new URLSearchParams({
      client_id: provider.clientId,
      client_secret: provider.clientSecret,
      code,
      redirect_uri: redirectUri,
    });
    const response = await this.http.post<Buffer>(url.href, form.toString(), {
      signal,
      headers: {
        'Content-Type': 'application/x-www-form-urlencoded',
        Accept: 'application/json', // axios would widen it
        'User-Agent': 'Latchkey',
      },
      ...(LOOPBACK.has(url.hostname) && { proxy: false as const }),
    });
    return readAnswer(response.status, response.data);
  }

  /** Only now: until the last request has been answered, exchanges may be in flight. */
  onApplicationShutdown(): void {
    this.httpAgent.destroy();
    this.httpsAgent.destroy();
  }
}

/**
 * Reads a provider's answer: the identity of a 200, or an error with the provider's own code (spec §7.3). Pure.
 * The content type is not judged (contract §3); bytes that are no UTF-8 are, since ids are compared byte for byte.
 */
export function readAnswer(status: number, body: Uint8Array): ProviderIdentity {
  const answer: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  const error = (answer as { error?: unknown } | null)?.error;
  if (error !== undefined && error !== null) throw new ProviderRefusal(status, error);
  if (status !== 200) throw new Error(`the provider answered with status ${status} and no error code`);
  return answer as ProviderIdentity;
}

class ProviderRefusal extends Error {
  constructor(
    status: number,
    readonly error: unknown,
  ) {
    super(`the provider answered with status ${status} and an error`);
  }
}

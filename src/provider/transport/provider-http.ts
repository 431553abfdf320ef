import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Axios } from 'axios';
import { isThisMachine } from '../../config/urls/urls.js';
import { AxiosThroughProxy } from './axios-through-proxy.js';
import { axiosOverUndici } from './undici-adapter.js';

const LARGEST_ANSWER = 64 * 1024;
const OWN_HEADERS = { 'User-Agent': 'Latchkey', 'Accept-Encoding': 'identity' };

export interface ProviderRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
  /** Never through a proxy: the address is one of our own. */
  readonly direct?: boolean;
}

export interface ProviderResponse {
  /** The address that was asked, without user info, query and fragment: they may hold what must not be logged. */
  readonly url: string;
  readonly status: number;
  readonly contentType: string | undefined;
  readonly body: Uint8Array;
}

/** The one way to a provider, with the limits of contract §3 and §6: no redirects, 64 KiB, no proxy on loopback. */
@Injectable()
export class ProviderHttp implements OnApplicationShutdown {
  private readonly proxied = AxiosThroughProxy.asTheEnvironmentSays(LARGEST_ANSWER);
  /** Made with the first request: see undici-adapter.ts. */
  private usual?: ReturnType<typeof axiosOverUndici>;

  /**
   * Sends a request with exactly these headers, `User-Agent` and `Accept-Encoding` beside them.
   * @returns the answer with any status
   * @throws when there is none within `signal`, or it is too large or compressed; the error says what was asked (provider-answer.ts)
   */
  async send({ method, url, headers, body, signal, direct }: ProviderRequest): Promise<ProviderResponse> {
    const http = this.wayTo(url, direct);
    const { origin, pathname } = new URL(url);
    const asked = origin + pathname;
    const request = { method, url, signal, data: body, headers: { ...headers, ...OWN_HEADERS } };
    const response = await http.request<Buffer>(request).catch((error: unknown) => {
      throw Object.assign(error as Error, { asked: { url: asked } });
    });
    const [contentType] = [response.headers['content-type'] as unknown].flat();
    const answer = {
      url: asked,
      status: response.status,
      contentType: typeof contentType === 'string' ? contentType : undefined,
      body: response.data,
    };
    const encoding = response.headers['content-encoding'] as unknown;
    if (encoding !== undefined && encoding !== 'identity' && answer.body.length > 0) {
      const message = 'the provider compressed its answer, although the request excludes it';
      throw Object.assign(new Error(message), { asked: { url: asked, status: answer.status } });
    }
    return answer;
  }

  /** Not earlier: until the last request has been answered, exchanges may be in flight. */
  async onApplicationShutdown(): Promise<void> {
    this.proxied?.close();
    await this.usual?.close();
  }

  private wayTo(url: string, direct = false): Axios {
    if (this.proxied && !direct && !isThisMachine(url)) return this.proxied.http;
    this.usual ??= axiosOverUndici(LARGEST_ANSWER);
    return this.usual.http;
  }
}

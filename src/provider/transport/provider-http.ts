import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import axios, { type Axios } from 'axios';
import { isThisMachine, namesProxy } from '../../config/urls/urls.js';
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
  /** Only if a variable names a proxy, as nearly nowhere. */
  private readonly proxied = namesProxy() ? axiosThroughProxy() : undefined;
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

/**
 * axios with its own adapter, which takes four times as much CPU as the usual way. It knows what the variables for proxies mean:
 * credentials, and NO_PROXY with its ports, wildcards and networks.
 */
function axiosThroughProxy(): { http: Axios; close: () => void } {
  // As without a proxy (undici-adapter.ts): an idle connection is dropped before the usual server drops it.
  const keepAlive = { keepAlive: true, timeout: 4000 };
  const [httpAgent, httpsAgent] = [new HttpAgent(keepAlive), new HttpsAgent(keepAlive)];
  const http = axios.create({
    httpAgent,
    httpsAgent,
    adapter: 'http',
    maxRedirects: 0, // secrets and codes go to the configured address and nowhere else
    maxContentLength: LARGEST_ANSWER,
    responseType: 'arraybuffer',
    decompress: false,
    validateStatus: () => true,
    transformRequest: [(body: string) => body], // axios would append a charset
  });
  return {
    http,
    close: () => {
      httpAgent.destroy();
      httpsAgent.destroy();
    },
  };
}

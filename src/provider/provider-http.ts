import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import axios from 'axios';
import { isThisMachine } from '../config/loopback.js';

const LARGEST_ANSWER = 64 * 1024;

// An idle connection is dropped before the usual server drops it (5 s): a code is never sent into a closing one.
const KEEP_ALIVE = { keepAlive: true, timeout: 4000 };

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
  readonly status: number;
  readonly contentType: string | undefined;
  readonly body: Uint8Array;
}

/** The one way to a provider, with the limits of contract §3 and §6: no redirects, 64 KiB, no proxy on loopback. */
@Injectable()
export class ProviderHttp implements OnApplicationShutdown {
  private readonly httpAgent = new HttpAgent(KEEP_ALIVE);
  private readonly httpsAgent = new HttpsAgent(KEEP_ALIVE);
  private readonly http = axios.create({
    adapter: 'http',
    httpAgent: this.httpAgent,
    httpsAgent: this.httpsAgent,
    maxRedirects: 0, // secrets and codes go to the configured address and nowhere else
    maxContentLength: LARGEST_ANSWER,
    responseType: 'arraybuffer',
    validateStatus: () => true,
    transformRequest: [(body: string) => body], // axios would append a charset
  });

  /**
   * Sends a request with exactly these headers, `User-Agent` beside them.
   * @returns the answer, whatever its status; @throws when there is none within `signal`, or it is too large.
   */
  async send({ method, url, headers, body, signal, direct }: ProviderRequest): Promise<ProviderResponse> {
    const response = await this.http.request<Buffer>({
      method,
      url,
      signal,
      data: body,
      headers: { ...headers, 'User-Agent': 'Latchkey' },
      ...((direct || isThisMachine(url)) && { proxy: false as const }),
    });
    const contentType: unknown = response.headers['content-type'];
    return {
      status: response.status,
      contentType: typeof contentType === 'string' ? contentType : undefined,
      body: response.data,
    };
  }

  /** Not earlier: until the last request has been answered, exchanges may be in flight. */
  onApplicationShutdown(): void {
    this.httpAgent.destroy();
    this.httpsAgent.destroy();
  }
}

import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { isBelowNoProxy, isThisMachine, namesProxy } from '../../platform/config/urls/urls.js';
import { axiosOverUndici, axiosThroughProxy, type HttpClient } from './http-clients.js';

const MAX_ANSWER_BYTES = 64 * 1024;
const USUAL_HEADERS = { Accept: 'application/json' };
const FORM_HEADERS = { 'Content-Type': 'application/x-www-form-urlencoded', ...USUAL_HEADERS };
const OWN_HEADERS = { 'User-Agent': 'Latchkey', 'Accept-Encoding': 'identity' };

export interface ProviderRequest {
  readonly url: string;
  /** Without one: POST if there is a body. */
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'PUT' | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** A form, unless the headers say otherwise. */
  readonly body?: string;
  readonly signal: AbortSignal;
  /** Without a proxy: the address is the service's own. */
  readonly direct?: boolean;
}

export interface ProviderResponse {
  /** Without user info, query and fragment, which must not be logged. */
  readonly url: string;
  readonly status: number;
  readonly contentType: string | undefined;
  readonly body: Uint8Array;
}

/** HTTP client (docs/security.md#providers): no redirects, 64 KiB, no proxy for loopback. */
@Injectable()
export class ProviderHttp implements OnApplicationShutdown {
  private readonly proxied = namesProxy() ? axiosThroughProxy(MAX_ANSWER_BYTES) : undefined;
  /** Created with the first request, see http-clients.ts. */
  private usual?: HttpClient;

  /**
   * Sends a request.
   * @returns the answer, of any status
   * @throws an error with `call` (provider-answer.ts) without an answer, or for a large or compressed one
   */
  async send({ url, method, headers, body, signal, direct }: ProviderRequest): Promise<ProviderResponse> {
    const http = this.clientFor(url, direct);
    const { origin, pathname } = new URL(url);
    const address = origin + pathname;
    const [usualMethod, usual] = body === undefined ? ['GET', USUAL_HEADERS] : ['POST', FORM_HEADERS];
    const request = {
      method: method ?? usualMethod,
      url,
      signal,
      data: body,
      headers: { ...usual, ...headers, ...OWN_HEADERS },
    };
    const response = await http.request<Buffer>(request).catch((error: unknown) => {
      throw Object.assign(error as Error, { call: { url: address } });
    });
    const { status, data } = response;
    const encoding = response.headers['content-encoding'] as unknown;
    if (encoding !== undefined && encoding !== 'identity' && data.length > 0) {
      const message = 'the provider compressed its answer, although the request excludes it';
      throw Object.assign(new Error(message), { call: { url: address, status } });
    }
    const [type] = [response.headers['content-type'] as unknown].flat();
    return { url: address, status, contentType: typeof type === 'string' ? type : undefined, body: data };
  }

  /** Exchanges may be in flight until the last request has been answered. */
  async onApplicationShutdown(): Promise<void> {
    await this.proxied?.close();
    await this.usual?.close();
  }

  private clientFor(url: string, direct = false): HttpClient['http'] {
    if (this.proxied && !direct && !isThisMachine(url) && !isBelowNoProxy(url)) return this.proxied.http;
    this.usual ??= axiosOverUndici(MAX_ANSWER_BYTES);
    return this.usual.http;
  }
}

/** Runs work with a deadline, whose signal then aborts. @throws an error with the code ETIMEDOUT */
export async function within<T>(ms: number, work: (deadline: AbortController) => Promise<T>): Promise<T> {
  const deadline = new AbortController(); // creates its signal on first use; most work needs none
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(Object.assign(new Error(`timed out after ${ms} ms`), { code: 'ETIMEDOUT' }));
      deadline.abort();
    }, ms);
  });
  try {
    return await Promise.race([work(deadline), late]);
  } finally {
    clearTimeout(timer);
  }
}

import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import axios, { type Axios } from 'axios';
import { namesProxy } from '../../config/urls/urls.js';

// As without a proxy (undici-adapter.ts): an idle connection is dropped before the usual server drops it.
const KEEP_ALIVE = { keepAlive: true, timeout: 4000 };

/**
 * axios with its own adapter, four times as dear as the usual way: it knows what the variables for proxies mean, credentials
 * and NO_PROXY with its ports, wildcards and networks among them, and needs nobody to write that again.
 */
export class AxiosThroughProxy {
  private readonly agents = { httpAgent: new HttpAgent(KEEP_ALIVE), httpsAgent: new HttpsAgent(KEEP_ALIVE) };
  /** For requests that may go through a proxy; whether one does, the variables say. */
  readonly http: Axios;

  private constructor(largest: number) {
    this.http = axios.create({
      ...this.agents,
      adapter: 'http',
      maxRedirects: 0, // secrets and codes go to the configured address and nowhere else
      maxContentLength: largest,
      responseType: 'arraybuffer',
      decompress: false,
      validateStatus: () => true,
      transformRequest: [(body: string) => body], // axios would append a charset
    });
  }

  /** @param largest bytes of an answer; @returns undefined where no variable names a proxy, as nearly everywhere */
  static asTheEnvironmentSays(largest: number): AxiosThroughProxy | undefined {
    return namesProxy() ? new AxiosThroughProxy(largest) : undefined;
  }

  close(): void {
    this.agents.httpAgent.destroy();
    this.agents.httpsAgent.destroy();
  }
}

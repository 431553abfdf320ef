import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { createRequire } from 'node:module';
import axios, {
  Axios,
  AxiosError,
  CanceledError,
  type AxiosAdapter,
  type InternalAxiosRequestConfig,
} from 'axios';
import type { Agent, Dispatcher } from 'undici'; // Node 20: version 7 is the last that supports it

/** Loaded on first use, to start faster. A failed `import()` (EMFILE) would fail until the process ends. */
const load = createRequire(import.meta.url) as (name: 'undici') => { readonly Agent: typeof Agent };

/** No other file knows axios. */
export interface HttpClient {
  readonly http: Axios;
  /** Ends all connections. */
  readonly close: () => Promise<void> | void;
}

/**
 * Creates axios over undici, at a quarter of the CPU (CONTRIBUTING.md#deviations-from-nestjs). Every status
 * is an answer; no redirect is followed, no request sent twice.
 *
 * @returns the client, with AxiosErrors, and CanceledErrors if `signal` aborts; `close` ends connections
 * @throws if undici cannot be loaded; a later call may succeed
 */
export function axiosOverUndici(maxBytes: number): HttpClient {
  const agent = new (load('undici').Agent)(CONNECTIONS);
  const adapter: AxiosAdapter = (config) =>
    new Promise((resolve, reject) => {
      const { origin, pathname, search } = new URL(config.url!);
      const { method = '', data: body = null } = config as { method?: string; data?: string };
      const headers = config.headers.toJSON() as Headers;
      const request = { origin, path: pathname + search, method: method.toUpperCase(), headers, body };
      agent.dispatch(request, new Call(config, maxBytes, resolve, reject));
    });
  // axios.create would merge unused defaults per call
  return { http: new Axios({ adapter }), close: () => agent.destroy() };
}

/**
 * A connection serves one request at a time: one that hangs delays no other. Idle ones are closed before a
 * usual server closes them (5 s, or `Keep-Alive`); a code must not be sent into a closing connection.
 */
const CONNECTIONS: Agent.Options = {
  keepAliveTimeout: 4000,
  keepAliveMaxTimeout: 4000,
  connect: { timeout: 5000 }, // the signal does not end it
  headersTimeout: 0,
  bodyTimeout: 0,
};

/** axios with its own adapter, which supports ports, wildcards and networks of NO_PROXY; undici does not. */
export function axiosThroughProxy(maxBytes: number): HttpClient {
  const keepAlive = { keepAlive: true, timeout: 4000 }; // less than a usual server, as above
  const [httpAgent, httpsAgent] = [new HttpAgent(keepAlive), new HttpsAgent(keepAlive)];
  const http = axios.create({
    httpAgent,
    httpsAgent,
    adapter: 'http',
    maxRedirects: 0, // secrets and codes go to the configured address only
    maxContentLength: maxBytes,
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

type Headers = Record<string, string | string[]>;
type Settle = Parameters<ConstructorParameters<typeof Promise<Awaited<ReturnType<AxiosAdapter>>>>[0]>;

class Call implements Dispatcher.DispatchHandler {
  private controller?: Dispatcher.DispatchController;
  private error?: Error;
  private status = 0;
  private headers: Partial<Headers> = {};
  private readonly chunks: Buffer[] = [];
  private size = 0;

  constructor(
    private readonly config: InternalAxiosRequestConfig,
    private readonly maxBytes: number,
    private readonly resolve: Settle[0],
    private readonly reject: Settle[1],
  ) {
    config.signal?.addEventListener?.('abort', this.cancel);
  }

  /** Called when there is a connection, before anything is sent. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.error) controller.abort(this.error);
    this.controller = controller;
  }

  /** Called for interim answers (1xx), too: the last one counts. */
  onResponseStart(_controller: unknown, status: number, headers: Partial<Headers>): void {
    this.status = status;
    this.headers = headers;
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    this.chunks.push(chunk);
    this.size += chunk.length;
    if (this.size <= this.maxBytes) return;
    const message = `the answer is larger than ${this.maxBytes} bytes`;
    this.fail(new AxiosError(message, 'ERR_BAD_RESPONSE', this.config));
  }

  onResponseEnd(): void {
    this.stopListening();
    const { status, headers, config } = this;
    const data = this.chunks.length === 1 ? this.chunks[0]! : Buffer.concat(this.chunks);
    this.resolve({ status, statusText: '', headers: headers as Headers, data, config });
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.fail(AxiosError.from(error, undefined, this.config));
  }

  private readonly cancel = (): void => this.fail(new CanceledError(undefined, this.config));

  private fail(error: Error): void {
    this.stopListening();
    this.error ??= error;
    this.reject(this.error);
    this.controller?.abort(this.error);
  }

  private stopListening(): void {
    this.config.signal?.removeEventListener?.('abort', this.cancel);
  }
}

import { createRequire } from 'node:module';
import { Axios, AxiosError, CanceledError, type AxiosAdapter, type InternalAxiosRequestConfig } from 'axios';
import type { Agent, Dispatcher } from 'undici'; // Node 20: 7 is the last line that runs on it

/**
 * undici takes 80 ms, which the start does not need. Not `import()`: where that fails once, since no file descriptor is left, it
 * fails until the process ends.
 */
const load = createRequire(import.meta.url) as (name: 'undici') => { readonly Agent: typeof Agent };

/**
 * axios over undici: a call costs 60–70 µs of CPU, with axios' own adapter 240 (16 at once on kept connections; undici
 * alone takes 27). It knows what ProviderHttp asks for and no more: `url`, `method`, `headers`, `data` as text,
 * `signal`. Every status is an answer, redirects are not followed, no request is sent twice.
 *
 * @param largest bytes of an answer
 * @throws when undici cannot be loaded; another call may succeed
 * @returns axios, whose requests throw an AxiosError with the code of what failed, or a CanceledError once `signal` aborts;
 *   and a function that ends all connections
 */
export function axiosOverUndici(largest: number): { http: Axios; close: () => Promise<void> } {
  const agent = new (load('undici').Agent)(CONNECTIONS);
  const adapter: AxiosAdapter = (config) =>
    new Promise((resolve, reject) => {
      const { origin, pathname, search } = new URL(config.url!);
      const { method = '', data: body = null } = config as { method?: string; data?: string };
      const headers = config.headers.toJSON() as Headers;
      const request = { origin, path: pathname + search, method: method.toUpperCase(), headers, body };
      agent.dispatch(request, new Call(config, largest, resolve, reject));
    });
  // Not axios.create: to merge its defaults, of things that are not used here, takes 14 µs more a call.
  return { http: new Axios({ adapter }), close: () => agent.destroy() };
}

/**
 * A connection serves one request at a time, and as many are opened as there are requests: one that hangs holds up no other.
 * An idle one is dropped before the usual server drops it (5 s), earlier where the server says so (`Keep-Alive`), and undici
 * looks whether it was closed before it writes: a code is never sent into a closing one.
 */
const CONNECTIONS: Agent.Options = {
  keepAliveTimeout: 4000,
  keepAliveMaxTimeout: 4000,
  connect: { timeout: 5000 }, // the one thing that a signal does not end
  headersTimeout: 0,
  bodyTimeout: 0,
};

type Headers = Record<string, string | string[]>;
type Settle = Parameters<ConstructorParameters<typeof Promise<Awaited<ReturnType<AxiosAdapter>>>>[0]>;

/** One request under way. */
class Call implements Dispatcher.DispatchHandler {
  private controller?: Dispatcher.DispatchController;
  private error?: Error;
  private status = 0;
  private headers: Partial<Headers> = {};
  private readonly chunks: Buffer[] = [];
  private size = 0;

  constructor(
    private readonly config: InternalAxiosRequestConfig,
    private readonly largest: number,
    private readonly resolve: Settle[0],
    private readonly reject: Settle[1],
  ) {
    config.signal?.addEventListener?.('abort', this.cancel);
  }

  /** There is a connection, and nothing has been sent. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.error) controller.abort(this.error);
    this.controller = controller;
  }

  /** Called for interim answers (1xx) as well: the last one counts. */
  onResponseStart(_controller: unknown, status: number, headers: Partial<Headers>): void {
    this.status = status;
    this.headers = headers;
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    this.chunks.push(chunk);
    this.size += chunk.length;
    if (this.size > this.largest) {
      this.fail(
        new AxiosError(`the answer is larger than ${this.largest} bytes`, 'ERR_BAD_RESPONSE', this.config),
      );
    }
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

import { lookup, type LookupAddress } from 'node:dns';
import { createRequire } from 'node:module';
import type { LookupFunction } from 'node:net';
import type { Agent, Dispatcher } from 'undici';
import { namesPrivateAddress } from '../../config/settings/webhook-settings.js';
import { isPublicAddress } from '../../config/urls/public-address.js';

/** A delivery counts if its status arrives within this time (contract §9). */
export const TIMEOUT_MS = 10_000;
const CONNECT_TIMEOUT_MS = 5000;
/** The body of an answer is not used. A connection with a longer one is closed. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** Loaded with the first delivery, as in provider/transport/undici-adapter.ts. */
const load = createRequire(import.meta.url) as (name: 'undici') => { readonly Agent: typeof Agent };

/** Time since its creation, by the clock that counted more: in a suspended machine, one of them may stop. */
export class Stopwatch {
  private readonly began = [performance.now(), Date.now()] as const;

  /** Milliseconds. */
  get ms(): number {
    return Math.max(performance.now() - this.began[0], Date.now() - this.began[1]);
  }
}

/** HTTP client for webhooks: no redirects, no proxy, no private networks unless they are allowed. */
export class WebhookHttp {
  private agent?: Agent;

  /**
   * @param allowsPrivate WEBHOOK_PRIVATE
   * @param resolve for host names
   */
  constructor(
    private readonly allowsPrivate: boolean,
    private readonly resolve = lookup,
  ) {}

  /**
   * Sends a POST.
   *
   * @param signal ends the attempt
   * @returns the status
   * @throws an error if there is none within the time limit, or if the address is refused
   */
  post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
  ): Promise<number> {
    return new Promise((resolve, reject) => {
      // A literal address is not resolved, so `lookup` would not see it.
      if (!this.allowsPrivate && namesPrivateAddress(url))
        throw new Error('the address is in a private network (WEBHOOK_PRIVATE)');
      this.agent ??= new (load('undici').Agent)({
        connect: {
          timeout: CONNECT_TIMEOUT_MS,
          lookup: this.allowsPrivate ? this.resolve : checkedLookup(this.resolve),
        },
        keepAliveTimeout: 4000, // less than a usual server, so that no event is sent into a closing connection
        keepAliveMaxTimeout: 4000,
        headersTimeout: 0, // the time limit is of the whole delivery
        bodyTimeout: 0,
      });
      const { origin, pathname, search } = new URL(url);
      const request = { origin, path: pathname + search, method: 'POST', headers, body } as const;
      this.agent.dispatch(request, new Delivery(resolve, reject, signal));
    });
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    await this.agent?.destroy();
  }
}

class Delivery implements Dispatcher.DispatchHandler {
  private readonly time = new Stopwatch();
  private readonly timer = setTimeout(() => this.end(new Error('no answer within 10 s')), TIMEOUT_MS);
  private controller?: Dispatcher.DispatchController;
  private isOver = false;
  private status = 0;
  private size = 0;

  constructor(
    private readonly resolve: (status: number) => void,
    private readonly reject: (error: Error) => void,
    private readonly signal: AbortSignal,
  ) {
    signal.addEventListener('abort', this.onAbort);
  }

  /**
   * Called when there is a connection, just before the request is written. After a pause of the process, another instance may have the
   * lease, which is longer than the time limit: then nothing is sent.
   */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.isOver || this.time.ms >= TIMEOUT_MS) this.end(new Error('the delivery began too late'));
  }

  /** Called for interim answers (1xx), too: the last one counts. */
  onResponseStart(_controller: unknown, status: number): void {
    this.status = status;
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    this.size += chunk.length;
    if (this.size > MAX_ANSWER_BYTES) this.end();
  }

  onResponseEnd(): void {
    this.isOver = true;
    this.settle();
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.end(error);
  }

  private readonly onAbort = (): void => this.end(new Error('the service is stopping'));

  /** Ends the connection. A status that has arrived counts, also without the body. */
  private end(error = new Error('the answer is too large')): void {
    this.isOver = true;
    this.settle(error);
    this.controller?.abort(error);
  }

  private settle(error?: Error): void {
    clearTimeout(this.timer);
    this.signal.removeEventListener('abort', this.onAbort);
    if (this.status >= 200) this.resolve(this.status);
    else this.reject(error ?? new Error('no status'));
  }
}

/**
 * Makes a `lookup` for new connections that fails if a host has an address outside of the Internet. The connection goes to an address
 * that was checked, so another answer of the name server later (DNS rebinding) changes nothing.
 *
 * @param resolve `lookup` of node:dns
 */
function checkedLookup(resolve: typeof lookup): LookupFunction {
  return (host, options, callback) => {
    resolve(host, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      const refused = error ?? refusalOf(addresses);
      if (refused) return callback(refused, []);
      if (options.all) return callback(null, addresses);
      callback(null, addresses[0]!.address, addresses[0]!.family);
    });
  };
}

function refusalOf(addresses: readonly LookupAddress[]): Error | undefined {
  if (addresses.length > 0 && addresses.every(({ address }) => isPublicAddress(address))) return undefined;
  return new Error('the host has an address in a private network (WEBHOOK_PRIVATE)');
}

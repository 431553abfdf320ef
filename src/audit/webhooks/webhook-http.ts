import { lookup, type LookupAddress } from 'node:dns';
import { createRequire } from 'node:module';
import type { LookupFunction } from 'node:net';
import type * as Undici from 'undici';
import { namesPrivateAddress } from '../../config/settings/webhook-settings.js';
import { isPublicAddress } from '../../config/urls/urls.js';

/**
 * A delivery counts if its status arrives within this time (docs/webhooks.md#what-a-receiver-can-rely-on).
 */
export const TIMEOUT_MS = 10_000;
const CONNECT_TIMEOUT_MS = 5000;
/** The body of an answer is not used. A connection with a longer one is closed. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** Loaded with the first delivery, as in provider/transport/undici-adapter.ts. */
const load = createRequire(import.meta.url) as (name: 'undici') => typeof Undici;

/** Answer of a receiver; its body is not used. */
export interface Answer {
  readonly status: number;
  /** Header `Retry-After`. */
  readonly retryAfter: string | undefined;
}

/** Time since its creation, by the clock that counted more: in a suspended machine, one of them may stop. */
export class Stopwatch {
  private readonly began = [performance.now(), Date.now()] as const;

  get ms(): number {
    return Math.max(performance.now() - this.began[0], Date.now() - this.began[1]);
  }
}

/** HTTP client for webhooks: no redirects, no proxy, no private networks unless they are allowed. */
export class WebhookHttp {
  private agent?: Undici.Agent;

  constructor(
    private readonly allowsPrivate: boolean,
    private readonly resolve = lookup,
  ) {}

  /**
   * Sends a POST.
   * @returns the answer, also without the body
   * @throws if there is none in time, or if the address is refused
   */
  async post(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<Answer> {
    // A literal address is not resolved, so `lookup` would not see it.
    if (!this.allowsPrivate && namesPrivateAddress(url))
      throw new Error('the address is in a private network (WEBHOOK_PRIVATE)');
    this.agent ??= this.createAgent();
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(new Error('no answer within 10 s')), TIMEOUT_MS);
    try {
      const options = {
        dispatcher: this.agent,
        method: 'POST',
        headers,
        body,
        signal: limit.signal,
      } as const;
      const answer = await load('undici').request(url, options);
      await answer.body.dump({ limit: MAX_ANSWER_BYTES });
      const { 'retry-after': retryAfter } = answer.headers;
      return { status: answer.statusCode, retryAfter: [retryAfter].flat()[0] };
    } finally {
      clearTimeout(timer);
    }
  }

  /** Closes all connections; deliveries in progress fail. */
  async close(): Promise<void> {
    await this.agent?.destroy();
  }

  private createAgent(): Undici.Agent {
    const { Agent, buildConnector } = load('undici');
    const resolve = this.allowsPrivate ? this.resolve : checkedLookup(this.resolve);
    const connect = buildConnector({ timeout: CONNECT_TIMEOUT_MS, lookup: resolve });
    return new Agent({
      // After a pause of the process, another instance may have the lease, which is longer than the time
      // limit: nothing is sent then.
      connect: (options, done) => {
        const time = new Stopwatch();
        connect(options, (...[error, socket]) => {
          if (error || time.ms < TIMEOUT_MS) return done(...([error, socket] as Parameters<typeof done>));
          socket.destroy();
          done(new Error('the delivery began too late'), null);
        });
      },
      keepAliveTimeout: 4000, // less than a usual server, so that no event is sent into a closing connection
      keepAliveMaxTimeout: 4000,
      headersTimeout: 0, // the time limit is of the whole delivery
      bodyTimeout: 0,
    });
  }
}

/**
 * Makes a `lookup` that fails if a host has an address outside of the Internet. The connection goes to an
 * address that was checked: another answer of the name server later (DNS rebinding) changes nothing.
 */
function checkedLookup(resolve: typeof lookup): LookupFunction {
  return (host, options, callback) => {
    resolve(host, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      if (error) return callback(error, []);
      if (addresses.length === 0 || !addresses.every(({ address }) => isPublicAddress(address)))
        return callback(new Error('the host has an address in a private network (WEBHOOK_PRIVATE)'), []);
      if (options.all) return callback(null, addresses);
      callback(null, addresses[0]!.address, addresses[0]!.family);
    });
  };
}

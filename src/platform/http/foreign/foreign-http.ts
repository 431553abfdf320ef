import { lookup, type LookupAddress } from 'node:dns';
import { createRequire } from 'node:module';
import type { LookupFunction } from 'node:net';
import type * as Undici from 'undici';
import { namesPrivateAddress } from '../../config/settings/signed-calls.js';
import { isLoopbackUrl, isPublicAddress } from '../../config/urls/urls.js';

const CONNECT_TIMEOUT_MS = 5000;
/** Loaded with the first call, as in provider/transport/http-clients.ts. */
const load = createRequire(import.meta.url) as (name: 'undici') => typeof Undici;

export interface Answer {
  readonly status: number;
  /** Header `Retry-After`. */
  readonly retryAfter: string | undefined;
  /** Header `Content-Type`, without parameters, in lower case. */
  readonly contentType?: string | undefined;
  readonly cacheControl?: string | undefined;
  /** The whole body, or why there is none. */
  readonly body: Buffer | Error;
}

/** Time since its creation, by the clock that counted more: in a suspended machine, one of them may stop. */
export class Stopwatch {
  private readonly began = [performance.now(), Date.now()] as const;

  get ms(): number {
    return Math.max(performance.now() - this.began[0], Date.now() - this.began[1]);
  }
}

interface Request {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Which hosts may be called besides those on the Internet. */
type Reach = 'internet' | 'loopback' | 'anywhere';

export interface ForeignCalls {
  /** Of a whole call: name server, TLS, request and answer. */
  readonly timeoutMs: number;
  readonly reach: Reach;
  /** Setting that extends the reach, for errors. */
  readonly setting?: string;
  /** A connection with a longer answer is closed. */
  readonly longestAnswer?: number;
}

/**
 * The HTTP client for addresses that operators or third parties have chosen. No redirects, no proxy, nothing
 * unpacked, no private networks unless they are allowed (docs/webhooks.md#private-networks).
 */
export class ForeignHttp {
  private agent?: Undici.Agent;

  constructor(
    private readonly calls: ForeignCalls,
    private readonly resolve = lookup,
  ) {}

  /** Sends a POST. @returns an answer of any status @throws without one in time, or for a refused address */
  post(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<Answer> {
    return this.call(url, { method: 'POST', headers, body });
  }

  /** Sends a GET. @returns as `post` @throws as `post` */
  get(url: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
    return this.call(url, { method: 'GET', headers });
  }

  /** Closes all connections; calls in progress fail. */
  async close(): Promise<void> {
    await this.agent?.destroy();
  }

  private async call(url: string, request: Request): Promise<Answer> {
    const { timeoutMs, reach } = this.calls;
    // A literal address is not resolved, so `lookup` would not see it.
    if (reach !== 'anywhere' && namesPrivateAddress(url) && !(reach === 'loopback' && isLoopbackUrl(url)))
      throw new Error(`the address is in a private network${this.hint}`);
    const limit = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const error = new Error(`no answer within ${timeoutMs / 1000} s`);
        limit.abort(error);
        setImmediate(reject, error); // after a status that has come
      }, timeoutMs);
    });
    try {
      const options = { ...request, signal: limit.signal };
      return await Promise.race([this.send(url, options), late]); // the signal does not end a connect
    } finally {
      clearTimeout(timer);
    }
  }

  private get hint(): string {
    const { setting } = this.calls;
    return setting === undefined ? '' : ` (${setting})`;
  }

  private async send(url: string, options: Request & { readonly signal: AbortSignal }): Promise<Answer> {
    const { longestAnswer = 64 * 1024 } = this.calls;
    const dispatcher = (this.agent ??= this.createAgent());
    const answer = await load('undici').request(url, { ...options, dispatcher });
    const { 'retry-after': retryAfter, 'content-type': type, 'cache-control': cacheControl } = answer.headers;
    return {
      status: answer.statusCode,
      retryAfter: [retryAfter].flat()[0],
      contentType: [type].flat()[0]?.split(';')[0]!.trim().toLowerCase(),
      cacheControl: [cacheControl].flat()[0],
      body: await readBody(answer.body, longestAnswer).catch((error: unknown) => error as Error),
    };
  }

  private createAgent(): Undici.Agent {
    const { Agent, buildConnector } = load('undici');
    const { timeoutMs, reach } = this.calls;
    const resolve = reach === 'anywhere' ? this.resolve : checkedLookup(this.resolve, reach, this.hint);
    const timeout = Math.min(CONNECT_TIMEOUT_MS, timeoutMs);
    const connect = buildConnector({ timeout, lookup: resolve });
    return new Agent({
      // After a pause of the process, the call may be out of date: nothing is sent then. Webhooks: another
      // instance may have the lease, which is longer than the time limit.
      connect: (options, done) => {
        const time = new Stopwatch();
        connect(options, (...[error, socket]) => {
          if (error || time.ms < timeoutMs) return done(...([error, socket] as Parameters<typeof done>));
          socket.destroy();
          done(new Error('the call began too late'), null);
        });
      },
      keepAliveTimeout: 4000, // less than a usual server, so that no call is sent into a closing connection
      keepAliveMaxTimeout: 4000,
      headersTimeout: 0, // the time limit is of the whole call
      bodyTimeout: 0,
    });
  }
}

/** @throws if the body is too large, or if the connection ends before */
async function readBody(body: AsyncIterable<Buffer>, longest: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > longest) throw new Error(`the answer is larger than ${longest / 1024} KiB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Makes a `lookup` that fails if a host has an address outside of the Internet. The connection goes to an
 * address that was checked: another answer of the name server later (DNS rebinding) changes nothing.
 */
function checkedLookup(resolve: typeof lookup, reach: Reach, hint: string): LookupFunction {
  const isRefused = ({ address }: LookupAddress): boolean =>
    !isPublicAddress(address) && !(reach === 'loopback' && isLoopbackAddress(address));
  return (host, options, callback) => {
    resolve(host, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      if (error) return callback(error, []);
      if (addresses.length === 0 || addresses.some(isRefused))
        return callback(new Error(`the host has an address in a private network${hint}`), []);
      if (options.all) return callback(null, addresses);
      callback(null, addresses[0]!.address, addresses[0]!.family);
    });
  };
}

function isLoopbackAddress(address: string): boolean {
  return isLoopbackUrl(`http://${address.includes(':') ? `[${address}]` : address}`);
}

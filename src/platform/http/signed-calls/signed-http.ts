import { lookup, type LookupAddress } from 'node:dns';
import { createRequire } from 'node:module';
import type { LookupFunction } from 'node:net';
import { Webhook } from 'standardwebhooks';
import type * as Undici from 'undici';
import { namesPrivateAddress } from '../../config/settings/signed-calls.js';
import { isPublicAddress } from '../../config/urls/urls.js';

const CONNECT_TIMEOUT_MS = 5000;
/** A connection with a longer answer is closed. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** Loaded with the first call, as in provider/transport/http-clients.ts. */
const load = createRequire(import.meta.url) as (name: 'undici') => typeof Undici;

export interface Answer {
  readonly status: number;
  /** Header `Retry-After`. */
  readonly retryAfter: string | undefined;
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

/** Returns headers of Standard Webhooks, signed with each secret. @param id of the message */
export function signedHeaders(
  secrets: readonly string[],
  id: string,
  at: Date,
  body: string,
): Readonly<Record<string, string>> {
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'Latchkey',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, at, body)).join(' '),
  };
}

/**
 * HTTP client for signed calls to services of the operator: no redirects, no proxy, no private networks
 * unless they are allowed (docs/webhooks.md#private-networks).
 */
export class SignedHttp {
  private agent?: Undici.Agent;

  /** @param timeoutMs of a whole call: name server, TLS, request and answer */
  constructor(
    private readonly timeoutMs: number,
    private readonly allowsPrivate: boolean,
    private readonly resolve = lookup,
  ) {}

  /** Sends a POST. @returns an answer of any status @throws without one in time, or for a refused address */
  async post(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<Answer> {
    // A literal address is not resolved, so `lookup` would not see it.
    if (!this.allowsPrivate && namesPrivateAddress(url))
      throw new Error('the address is in a private network (WEBHOOK_PRIVATE)');
    const limit = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const error = new Error(`no answer within ${this.timeoutMs / 1000} s`);
        limit.abort(error);
        setImmediate(reject, error); // after a status that has come
      }, this.timeoutMs);
    });
    try {
      const options = { method: 'POST', headers, body, signal: limit.signal } as const;
      return await Promise.race([this.send(url, options), late]); // the signal does not end a connect
    } finally {
      clearTimeout(timer);
    }
  }

  /** Closes all connections; calls in progress fail. */
  async close(): Promise<void> {
    await this.agent?.destroy();
  }

  private async send(url: string, options: Parameters<typeof Undici.request>[1]): Promise<Answer> {
    const dispatcher = (this.agent ??= this.createAgent());
    const answer = await load('undici').request(url, { ...options, dispatcher });
    const { 'retry-after': retryAfter } = answer.headers;
    return {
      status: answer.statusCode,
      retryAfter: [retryAfter].flat()[0],
      body: await readBody(answer.body).catch((error: unknown) => error as Error),
    };
  }

  private createAgent(): Undici.Agent {
    const { Agent, buildConnector } = load('undici');
    const { timeoutMs } = this;
    const resolve = this.allowsPrivate ? this.resolve : checkedLookup(this.resolve);
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
async function readBody(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw new Error('the answer is larger than 64 KiB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
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

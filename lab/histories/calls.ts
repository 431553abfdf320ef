import { Pool } from 'undici';
import type { Call, Outcome } from './operation.js';

const LONGEST_MS = 10_000;
const AT_ONCE = 64;

/** A call, beside what the operation itself says of it. */
export type Answered = Omit<Call, 'client'> & { readonly body: Body };

export interface Asked {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly body?: object;
  readonly bearer?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type Body = Readonly<Record<string, unknown>>;
export type Lie = (path: string, asked: Asked, body: Body) => Body;

/** HTTP as a strict client speaks it: connections are kept open, and nothing is tried twice. */
export class Calls {
  private readonly pools: readonly Pool[];

  /**
   * @param urls of the instances
   * @param lie a planted fault: replaces the body of an answer
   */
  constructor(
    urls: readonly string[],
    private readonly lie: Lie = (_path, _asked, body) => body,
  ) {
    this.pools = urls.map(
      (url) =>
        new Pool(url.replace('//localhost:', '//127.0.0.1:'), {
          connections: AT_ONCE,
          headersTimeout: LONGEST_MS,
          bodyTimeout: LONGEST_MS,
          connect: { timeout: LONGEST_MS },
        }),
    );
  }

  get instances(): number {
    return this.pools.length;
  }

  /** Never throws: a call without an answer is one of unknown outcome. */
  async ask(instance: number, path: string, asked: Asked = {}): Promise<Answered> {
    const { method = 'GET', body, bearer, headers } = asked;
    const begun = performance.now();
    try {
      const answer = await this.pools[instance]!.request({
        path,
        method,
        ...(body && { body: JSON.stringify(body) }),
        headers: {
          ...(body && { 'content-type': 'application/json' }),
          ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
          ...headers,
        },
      });
      const text = await answer.body.text();
      const read = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
      const status = answer.statusCode;
      const error = read['error'] as string | undefined;
      return {
        instance,
        begun,
        ended: performance.now(),
        outcome: outcomeOf(status),
        status,
        ...(error !== undefined && { error }),
        ...(answer.headers['retry-after'] !== undefined && { retryAfter: true }),
        body: this.lie(path, asked, read),
      };
    } catch (thrown) {
      const { code, name } = thrown as NodeJS.ErrnoException;
      return { instance, begun, ended: performance.now(), outcome: 'unknown', error: code ?? name, body: {} };
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.pools.map((pool) => pool.destroy()));
  }
}

function outcomeOf(status: number): Outcome {
  if (status < 400) return 'ok';
  return status < 500 ? 'refused' : 'unknown';
}

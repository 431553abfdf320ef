import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Tally } from './tally.js';

const LONGEST_MS = 15_000;
const CONNECTIONS = 32; // to each instance

export interface Call {
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly path: string;
  readonly body?: object | string;
  readonly bearer?: string | undefined;
  /** The address that it comes from, for the proxy's header. */
  readonly from: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Requests over connections that are kept. Each is expected to have one of some statuses; whatever else is noted as wrong. */
export class Http {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });

  constructor(private readonly tally: Tally) {}

  /**
   * @param due by `performance.now()`: when it should have been sent
   * @returns the body of an answer that was expected; undefined after any other
   */
  async expect(
    kind: string,
    url: string,
    call: Call,
    due: number,
    ...statuses: readonly number[]
  ): Promise<Record<string, unknown> | undefined> {
    try {
      const { status, body } = await this.send(url, call);
      this.tally.took(kind, due);
      if (statuses.includes(status)) return parsed(body);
      this.tally.wrong(`${kind} ${status} ${body.slice(0, 120)}`);
    } catch (error) {
      this.tally.wrong(`${kind} ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}`);
    }
    return undefined;
  }

  close(): void {
    this.agent.destroy();
  }

  private async send(url: string, call: Call): Promise<{ status: number; body: string }> {
    const { method, path, body, bearer, from, headers } = call;
    const sent = request(url + path, {
      method,
      agent: this.agent,
      signal: AbortSignal.timeout(LONGEST_MS),
      headers: {
        'X-Forwarded-For': from,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...(bearer !== undefined && { Authorization: `Bearer ${bearer}` }),
        ...headers,
      },
    });
    sent.end(typeof body === 'object' ? JSON.stringify(body) : body);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return { status: response.statusCode!, body: await text(response) };
  }
}

function parsed(body: string): Record<string, unknown> {
  return body.startsWith('{') ? (JSON.parse(body) as Record<string, unknown>) : {};
}

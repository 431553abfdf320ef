import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Kind } from './kinds.js';
import type { Tally } from './tally.js';

const LONGEST_MS = 15_000;
/** That are kept, to each instance. */
export const CONNECTIONS = 32;

export interface Call {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** An object goes as JSON, parameters as a form, text as it is. */
  readonly body?: object | URLSearchParams | string;
  readonly bearer?: string | undefined;
  /** The address that it comes from, for the proxy's header. */
  readonly from: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly location: string | undefined;
}

/** Requests over connections that are kept. Each is expected to have one of some statuses; whatever else is noted as wrong. */
export class Http {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });

  constructor(
    private readonly urls: readonly string[],
    private readonly tally: Tally,
  ) {}

  /** Of an instance, at random. */
  get url(): string {
    return this.urls[randomInt(this.urls.length)]!;
  }

  /**
   * Sends to some instance.
   * @param due by `performance.now()`: when it should have been sent
   * @returns an answer that was expected; undefined after any other
   */
  async expect(
    kind: Kind,
    call: Call,
    due: number,
    ...statuses: readonly number[]
  ): Promise<Answer | undefined> {
    try {
      const answer = await this.send(this.url, call);
      this.tally.took(kind, due);
      const refusal = refusalIn(answer);
      if (statuses.includes(answer.status) && refusal === null) return answer;
      this.tally.wrong(`${kind} ${answer.status} ${refusal ?? saidIn(answer.text)}`);
    } catch (error) {
      this.tally.wrong(`${kind} ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}`);
    }
    return undefined;
  }

  close(): void {
    this.agent.destroy();
  }

  private async send(url: string, call: Call): Promise<Answer> {
    const { method, path, body, bearer, from, headers } = call;
    const sent = request(url + path, {
      method,
      agent: this.agent,
      signal: AbortSignal.timeout(LONGEST_MS),
      headers: {
        'X-Forwarded-For': from,
        ...(body !== undefined && { 'Content-Type': typeOf(body) }),
        ...(bearer !== undefined && { Authorization: `Bearer ${bearer}` }),
        ...headers,
      },
    });
    sent.end(body === undefined ? undefined : textOf(body));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const { statusCode, headers: answered } = response;
    return { status: statusCode!, text: await text(response), location: answered.location };
  }
}

/** Of an answer that is JSON. */
export function jsonOf(answer: Answer): unknown {
  return JSON.parse(answer.text);
}

/** The query of a redirect. */
export function redirectedWith({ location = '' }: Answer): URLSearchParams {
  return new URL(location).searchParams;
}

/** Why a redirect is none with a code: an error (RFC 6749 §4.1.2.1), or another way. */
function refusalIn(answer: Answer): string | null {
  const { location } = answer;
  if (location === undefined) return null;
  if (!URL.canParse(location)) return `leads to ${location}`;
  const query = redirectedWith(answer);
  return query.get('error_description') ?? query.get('error');
}

/** An error, or the heading of a page. */
function saidIn(body: string): string {
  return /<h1>([^<]*)/.exec(body)?.[1] ?? body.slice(0, 120);
}

function typeOf(body: object | string): string {
  return body instanceof URLSearchParams ? 'application/x-www-form-urlencoded' : 'application/json';
}

function textOf(body: object | string): string {
  if (typeof body === 'string') return body;
  return body instanceof URLSearchParams ? body.toString() : JSON.stringify(body);
}

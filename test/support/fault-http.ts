import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { json } from 'node:stream/consumers';

/** Counts requests by their kind, and the longest time without a success of each. */
export class FaultTally {
  requests = 0;
  failed = 0;
  /** What the failures were, e.g. `push 500`, and how often each. */
  readonly failures = new Map<string, number>();
  private readonly lastSuccess = new Map<string, number>();
  private readonly gaps = new Map<string, number>();

  /** @param outcome a status, or a code such as `ECONNREFUSED` */
  add(kind: string, succeeded: boolean, outcome: string): void {
    this.requests++;
    if (succeeded) {
      this.endGap(kind);
    } else {
      this.failed++;
      const failure = `${kind} ${outcome}`;
      this.failures.set(failure, (this.failures.get(failure) ?? 0) + 1);
    }
  }

  /** Milliseconds, of the kind for which it was longest; the time until now counts. */
  longestGap(): number {
    for (const kind of this.lastSuccess.keys()) this.endGap(kind);
    return Math.max(0, ...this.gaps.values());
  }

  private endGap(kind: string): void {
    const now = performance.now();
    const gap = now - (this.lastSuccess.get(kind) ?? now);
    this.lastSuccess.set(kind, now);
    this.gaps.set(kind, Math.max(gap, this.gaps.get(kind) ?? 0));
  }
}

const LONGEST_MS = 15_000;

export interface Answered {
  readonly status: number;
  readonly body: Record<string, unknown>;
  /** An instance, not a proxy, says that the database was too slow. */
  readonly isBusy: boolean;
}

/** The outcome of requests for which the database of a busy machine was too slow. */
export const SLOW_DATABASE = 'slow database';

/** A strict client: it keeps its connections open, tries nothing twice, and counts whatever does not succeed as failed. */
export class FaultHttp {
  private readonly plain = new http.Agent({ keepAlive: true });
  private readonly tls: https.Agent;

  /** @param ca what to trust at `https:` addresses */
  constructor(
    private readonly tally: FaultTally,
    ca?: string,
  ) {
    this.tls = new https.Agent({ keepAlive: true, ...(ca !== undefined && { ca }) });
  }

  /** @returns the answer, or undefined when there was none or it is no success; never throws */
  async counted(kind: string, url: string, body?: object, bearer?: string): Promise<Answered | undefined> {
    try {
      const answer = await this.ask(url, body, bearer);
      const succeeded = answer.status < 300;
      this.tally.add(kind, succeeded, answer.isBusy ? SLOW_DATABASE : String(answer.status));
      return succeeded ? answer : undefined;
    } catch (error) {
      this.tally.add(kind, false, (error as NodeJS.ErrnoException).code ?? (error as Error).name);
      return undefined;
    }
  }

  /** A POST of JSON, or a GET without a body. Not counted. @param more headers */
  async ask(url: string, body?: object, bearer?: string, more: object = {}): Promise<Answered> {
    const headers = {
      ...more,
      ...(body && { 'Content-Type': 'application/json' }),
      ...(bearer !== undefined && { Authorization: `Bearer ${bearer}` }),
    };
    const signal = AbortSignal.timeout(LONGEST_MS);
    const options = { method: body ? 'POST' : 'GET', headers, signal };
    const call = url.startsWith('https:')
      ? https.request(url, { ...options, agent: this.tls })
      : http.request(url, { ...options, agent: this.plain });
    call.end(body && JSON.stringify(body));
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    const text = response.headers['content-type']?.includes('json');
    if (!text) response.resume();
    const { 'retry-after': retryAfter, 'x-request-id': requestId } = response.headers;
    return {
      status: response.statusCode!,
      isBusy: response.statusCode === 500 && retryAfter !== undefined && requestId !== undefined,
      body: text ? ((await json(response)) as Answered['body']) : {},
    };
  }

  close(): void {
    this.plain.destroy();
    this.tls.destroy();
  }
}

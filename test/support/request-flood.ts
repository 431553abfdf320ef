import { Agent, request, type OutgoingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

export interface FloodAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
  /** From sending to the whole answer. */
  readonly milliseconds: number;
}

export interface FloodRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: object;
}

/** Many requests over connections that stay open, so that the time to open them is not measured. */
export class Flood {
  private readonly agents: Agent[];
  /** How many have been sent so far. */
  bytes = 0;

  constructor(
    private readonly url: string,
    connections: number,
  ) {
    this.agents = Array.from({ length: connections }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  }

  /** Sends them over all connections, each its next one when the last is answered. @returns answers in their order */
  async send(requests: readonly FloodRequest[]): Promise<FloodAnswer[]> {
    const answers: FloodAnswer[] = [];
    let next = 0;
    await Promise.all(
      this.agents.map(async (agent) => {
        for (let i = next++; i < requests.length; i = next++)
          answers[i] = await this.one(agent, requests[i]!);
      }),
    );
    return answers;
  }

  close(): void {
    for (const agent of this.agents) agent.destroy();
  }

  private one(agent: Agent, one: FloodRequest): Promise<FloodAnswer> {
    const { method, path, headers = {}, body } = one;
    const text = body === undefined ? '' : JSON.stringify(body);
    const length = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) };
    return new Promise((resolve, reject) => {
      const began = performance.now();
      let socket: Socket;
      let before = 0;
      const call = request(new URL(path, this.url), { method, agent, headers: { ...length, ...headers } });
      call.on('socket', (own) => {
        socket = own; // Node takes it away from the answer, to use it again
        before = own.bytesWritten;
      });
      call.on('error', (error: NodeJS.ErrnoException) => {
        // On a slow machine the service may close a connection that was idle for long, at the moment that it is used again.
        if (call.reusedSocket && error.code === 'ECONNRESET') resolve(this.one(agent, one));
        else reject(error);
      });
      call.on('response', (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          this.bytes += socket.bytesWritten - before;
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks).toString(),
            milliseconds: performance.now() - began,
          });
        });
      });
      call.end(text);
    });
  }
}

/** Asks `/health/live` again and again, and the process for its memory, until told to stop. */
export class HealthWatch {
  /** The longest time that a request has waited for its answer, in milliseconds. */
  longestGap = 0;
  /** Resident MiB, the most that was seen; NaN where there is no /proc. */
  memory = NaN;
  private readonly end = new AbortController();
  private readonly work: Promise<void>;

  constructor(
    private readonly url: string,
    private readonly pid: number,
  ) {
    this.work = this.watch();
  }

  async stop(): Promise<this> {
    this.end.abort();
    await this.work;
    return this;
  }

  private async watch(): Promise<void> {
    do {
      const began = performance.now();
      const { status } = await fetch(`${this.url}/health/live`);
      if (status !== 200) throw new Error(`/health/live answers ${status}`);
      this.longestGap = Math.max(this.longestGap, performance.now() - began);
      const memory = residentMiB(this.pid);
      if (!(memory <= this.memory)) this.memory = memory;
      await delay(20);
    } while (!this.end.signal.aborted);
  }
}

/** NaN where there is no /proc. */
function residentMiB(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
  } catch {
    return NaN;
  }
}

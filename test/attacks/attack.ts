import { existsSync, readFileSync } from 'node:fs';
import type { ServiceProcess } from '../support/service-process.js';
import { Agent, request, type OutgoingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';

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

/** What an attack has cost the service. */
export interface Cost {
  /** MiB by which its memory has grown; NaN on systems other than Linux. */
  readonly memory: number;
  /** The longest time without an answer of /health/live, in milliseconds. */
  readonly gap: number;
}

/** Watches a service under attack: asks it again and again whether it is alive. */
export class Witness {
  private readonly before: number;
  private readonly end = new AbortController();
  private readonly watching: Promise<number>;

  constructor(private readonly service: ServiceProcess) {
    this.before = rss(service);
    this.watching = this.watch();
    this.watching.catch(() => undefined); // stop() throws it
  }

  async stop(): Promise<Cost> {
    this.end.abort();
    const gap = await this.watching;
    return { gap, memory: rss(this.service) - this.before };
  }

  private async watch(): Promise<number> {
    let longest = 0;
    for (let answered = performance.now(); !this.end.signal.aborted;) {
      const response = await fetch(`${this.service.url}/health/live`);
      if (response.status !== 200) throw new Error(`/health/live answered ${response.status}`);
      await response.arrayBuffer();
      const now = performance.now();
      longest = Math.max(longest, now - answered);
      answered = now;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return longest;
  }
}

/** Resident memory of a process in MiB; NaN on systems other than Linux. */
function rss({ child }: ServiceProcess): number {
  const status = `/proc/${child.pid}/status`;
  if (!existsSync(status)) return Number.NaN;
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(status, 'latin1'))![1]) / 1024;
}

/** One line on what an attack costs both sides. @param sent bytes of the attacker */
export function report(attack: string, sent: number, { memory, gap }: Cost): void {
  const facts = [
    `${(sent / 1024 / 1024).toFixed(1)} MiB sent`,
    `memory ${memory >= 0 ? '+' : ''}${memory.toFixed(0)} MiB`,
    `longest gap ${gap.toFixed(0)} ms`,
  ];
  process.stdout.write(`  attack: ${attack}: ${facts.join(', ')}\n`);
}

import type { ChildProcess } from 'node:child_process';
import { ask, startBeside } from '../../support/storm.js';

export interface FloodCounts {
  /** How many answers had each status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** The first answer of each status, as it came. */
  readonly firsts: Readonly<Record<string, string>>;
  /** Requests that were not sent, since no connection was free. */
  readonly left: number;
}

export interface FloodOrder {
  readonly port: number;
  readonly perSecond: number;
  /** Whole requests, sent in turn on connections that are kept. */
  readonly requests: readonly string[];
  /** Such that end their connection. */
  readonly oneEach?: readonly string[];
}

/** A client that sends far more than it may, in a process of its own, which gives way to the measurement's. */
export class Flood {
  private readonly child: ChildProcess = startBeside(new URL('flood-client.mjs', import.meta.url).href, true);

  /** Resolves at the first answer. */
  async start(order: FloodOrder): Promise<void> {
    await ask(this.child, { do: 'start', oneEach: [], ...order });
  }

  async end(): Promise<FloodCounts> {
    return ask<FloodCounts>(this.child, { do: 'end' });
  }

  close(): void {
    this.child.kill();
  }
}

/** One request as a text. @param body what is sent as JSON */
export function requestText(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: object,
): string {
  const text = body === undefined ? '' : JSON.stringify(body);
  const all = {
    Host: '127.0.0.1',
    ...(body && { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(text)) }),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${text}`;
}

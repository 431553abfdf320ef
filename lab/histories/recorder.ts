import { createWriteStream, type WriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import type { HistoryEntry } from './operation.js';

const LOOK_EVERY_MS = 50;
const STALL_MS = 200;

/** Writes a history down as it happens, one JSON object a line, in the order in which things ended. */
export class Recorder {
  readonly entries: HistoryEntry[] = [];
  /** How many of each kind. */
  readonly counts = new Map<string, number>();
  /** What is to be taken from the machine's clock for the times of this history. */
  readonly epoch = Date.now() - performance.now();
  private readonly stream: WriteStream;
  private readonly timer: NodeJS.Timeout;

  constructor(readonly path: string) {
    this.stream = createWriteStream(path);
    let last = performance.now();
    this.timer = setInterval(() => {
      const now = performance.now();
      if (now - last > LOOK_EVERY_MS + STALL_MS) this.record({ kind: 'stall', begun: last, ended: now });
      last = now;
    }, LOOK_EVERY_MS).unref();
  }

  record(entry: HistoryEntry): void {
    this.entries.push(entry);
    this.counts.set(entry.kind, (this.counts.get(entry.kind) ?? 0) + 1);
    this.stream.write(`${JSON.stringify(operationOf(entry))}\n`);
  }

  /** What clients have done, and what came to them. */
  get operations(): number {
    let sum = 0;
    for (const [kind, count] of this.counts) if (!NO_OPERATION.has(kind)) sum += count;
    return sum;
  }

  /** Resolves when all of it is in the file. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    this.stream.end();
    await finished(this.stream);
  }
}

const NO_OPERATION = new Set<string>([
  'fault',
  'stall',
  'exchange',
  'stored',
] satisfies HistoryEntry['kind'][]);

/**
 * Entry in the form that foreign checkers read. `key`: state, session, user or key that the operation is about; `value`: everything
 * else; `ok` is null if the outcome is unknown.
 */
function operationOf(entry: HistoryEntry): object {
  const all = { client: 'world', outcome: 'ok', ...entry } as Record<string, unknown>;
  const { kind, begun, ended, client, outcome, ...value } = all;
  const token = value['token'] as { session: string } | undefined;
  const key = value['state'] ?? value['session'] ?? token?.session ?? value['user'] ?? value['kid'] ?? null;
  const ok = outcome === 'unknown' ? null : outcome === 'ok';
  return { client, op: kind, key, value, start: begun, end: ended, ok };
}

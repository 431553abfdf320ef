import { createWriteStream, type WriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import type { HistoryEntry } from './operation.js';

/** Writes a history down as it happens, one JSON object a line, in the order in which things ended. */
export class Recorder {
  readonly entries: HistoryEntry[] = [];
  /** How many of each kind. */
  readonly counts = new Map<string, number>();
  /** What is to be taken from the machine's clock for the times of this history. */
  readonly epoch = Date.now() - performance.now();
  /** What clients have done, and what came to them. */
  operations = 0;
  private readonly stream: WriteStream;

  constructor(readonly path: string) {
    this.stream = createWriteStream(path);
  }

  record(entry: HistoryEntry): void {
    this.entries.push(entry);
    this.operations += Number('client' in entry);
    this.counts.set(entry.kind, (this.counts.get(entry.kind) ?? 0) + 1);
    this.stream.write(`${JSON.stringify(operationOf(entry))}\n`);
  }

  /** Resolves when all of it is in the file. */
  async close(): Promise<void> {
    this.stream.end();
    await finished(this.stream);
  }
}

/**
 * Entry in the form that other checkers read (docs/reliability.md#the-recorded-file). `key`: state, session, user or key that the
 * operation is about, of a merge the former user. A sign-out may end several sessions: its `key` is the user, and `scope` says which sessions of the user.
 */
function operationOf(entry: HistoryEntry): object {
  const all = { client: 'world', outcome: 'ok', ...entry } as Record<string, unknown>;
  const { kind, begun, ended, client, outcome, ...others } = all;
  const { scope, ...value } = kind === 'sign-out' ? others : { ...others, scope: undefined };
  const token = value['token'] as { session: string } | undefined;
  const named =
    value['former'] ??
    value['state'] ??
    value['session'] ??
    token?.session ??
    value['user'] ??
    value['kid'] ??
    null;
  const key = kind === 'sign-out' ? value['user'] : named;
  const ok = outcome === 'unknown' ? null : outcome === 'ok';
  return {
    client,
    op: kind,
    key,
    ...(scope !== undefined && { scope }),
    value,
    start: begun,
    end: ended,
    ok,
  };
}

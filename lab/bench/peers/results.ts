import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const FILE = 'lab/results/peers.json';

/** Speed of a target in one operation: medians over the rounds. */
export interface Speed {
  readonly target: string;
  readonly operation: string;
  /** HTTP connections or sockets, open at once. */
  readonly connections: number;
  /** Of the channel: connects or messages per second. */
  readonly requestsPerSecond: number;
  /** Speed divided by Latchkey's speed, round by round. */
  readonly ratio: number;
  /** Milliseconds. */
  readonly p50?: number;
  readonly p99?: number;
  /** µs a request. */
  readonly serviceCpu?: number;
  readonly databaseCpu?: number;
  /** Memory of a socket. */
  readonly kibPerSocket?: number;
}

/** What a target needs before its first request. */
export interface Footprint {
  readonly target: string;
  /** From the start of the process until it is ready, with a prepared database. */
  readonly startSeconds: number;
  /** Resident memory of the process and its children, 10 s after the start. */
  readonly idleMiB: number;
  readonly installedMiB: number;
}

type Row = Speed | Footprint;

export function readResults(): Row[] {
  return existsSync(FILE) ? (JSON.parse(readFileSync(FILE, 'utf8')) as Row[]) : [];
}

/** Adds to the file of results; a row replaces the one with equal target, operation and connections. */
export function saveResults(rows: readonly Row[]): void {
  const merged = new Map([...readResults(), ...rows].map((row) => [keyOf(row), row]));
  const rounded = (_: string, value: unknown): unknown =>
    typeof value === 'number' ? Number(value.toPrecision(4)) : value;
  writeFileSync(FILE, `${JSON.stringify([...merged.values()], rounded, 2)}\n`);
}

function keyOf(row: Row): string {
  return 'operation' in row ? `${row.target} ${row.operation} ${row.connections}` : row.target;
}

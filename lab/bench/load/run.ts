import { Connection } from './connection.js';
import type { Script } from './script.js';

const LARGEST_COUNT = 5_000_000;
const LAST_ANSWER_MS = 30_000;

export interface Load {
  readonly port: number;
  /** Of an interface for administrators that the script needs, too. */
  readonly adminPort?: number;
  readonly connections: number;
  readonly milliseconds: number;
}

export interface LoadResult {
  /** How many times the script was run to its end. */
  readonly count: number;
  /** From the first request to the last answer. */
  readonly seconds: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

/**
 * Runs a script on several connections at once for a while, then waits for the answers that are still under way.
 * @throws at the first answer that is not 200, and when an answer does not come.
 */
export async function run(script: Script, load: Load): Promise<LoadResult> {
  const { port, adminPort, connections, milliseconds } = load;
  let fail!: (error: Error) => void;
  const failed = new Promise<never>((_, reject) => (fail = reject));
  failed.catch(() => undefined); // the race below throws it; an early one waits until then
  const open = (to: number): Promise<Connection[]> =>
    Promise.all(Array.from({ length: connections }, () => Connection.open(to, fail)));
  const opened = await open(port);
  const admins = adminPort === undefined ? [] : await open(adminPort);
  const overdue = setTimeout(() => fail(new Error('an answer does not come')), milliseconds + LAST_ANSWER_MS);
  const latencies: number[] = [];
  const start = performance.now();
  const stopAt = start + milliseconds;
  try {
    const repeated = opened.map((connection, i) => repeat(script, connection, admins[i], stopAt, latencies));
    await Promise.race([Promise.all(repeated), failed]);
  } finally {
    clearTimeout(overdue);
    for (const connection of [...opened, ...admins]) connection.close();
  }
  const seconds = (performance.now() - start) / 1000;
  const sorted = Float64Array.from(latencies).toSorted();
  return { count: sorted.length, seconds, p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) };
}

function repeat(
  script: Script,
  connection: Connection,
  admin: Connection | undefined,
  stopAt: number,
  latencies: number[],
): Promise<void> {
  return new Promise((resolve) => {
    let begun = performance.now();
    const done = (): void => {
      const now = performance.now();
      latencies.push(now - begun);
      if (now >= stopAt || latencies.length >= LARGEST_COUNT) return resolve();
      begun = now;
      begin();
    };
    const begin = script(connection, done, admin);
    begin();
  });
}

/** The value that a share of a sorted list is below; NaN of an empty one. */
function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.floor(share * (sorted.length - 1))] ?? NaN;
}

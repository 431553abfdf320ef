import { availableParallelism } from 'node:os';
import type { Client } from 'pg';
import type { Options } from './options.js';
import type { Speed } from './peers/results.js';
import type { SocketTurn, TargetTurns, Turn } from './turn.js';

/** Of the machine: the bench may bind its processes to some of them later. */
const CORES = availableParallelism();

/** Prints what is compared, on which machine, and with which settings. */
export async function printHeading(
  text: string,
  { sessions, rounds, seconds }: Options,
  admin: Client,
): Promise<void> {
  const { rows } = await admin.query<{ version: string }>(
    `SELECT split_part(current_setting('server_version'), ' ', 1) AS version`,
  );
  const date = new Date().toISOString().slice(0, 10);
  const versions = `Node ${process.versions.node}, PostgreSQL ${rows[0]!.version}`;
  console.log(`
${text}
Only ratios mean something, and only within one table; they are taken round by round. µs are CPU time a request.
PostgreSQL has fsync and synchronous_commit on.
${date}: ${CORES} cores, ${versions}; ${sessions} sessions, medians of ${rounds} rounds of ${seconds} s`);
}

/**
 * One table: what was measured at one number of connections. Medians over the rounds.
 * @param against the targets with which all are compared
 */
export function printTable(
  title: string,
  connections: number,
  against: readonly string[],
  measured: readonly TargetTurns<Turn>[],
): void {
  const yardsticks = measured.filter(({ target }) => against.includes(target));
  const head = [
    `${title}, ${connections} connection${connections === 1 ? '' : 's'}`,
    'req/s',
    ...yardsticks.map(({ target }) => `/ ${target}`),
    'p50 ms',
    'p99 ms',
    'service µs',
    'database µs',
  ];
  const rows = measured.map(({ target, turns }) => [
    target,
    median(turns, 'requestsPerSecond').toFixed(0),
    ...yardsticks.map((yardstick) => ratio(turns, yardstick.turns, 'requestsPerSecond').toFixed(2)),
    median(turns, 'p50').toFixed(2),
    median(turns, 'p99').toFixed(2),
    median(turns, 'serviceCpu').toFixed(0),
    median(turns, 'databaseCpu').toFixed(0),
  ]);
  print([head, ...rows]);
}

/** The table of W4, with ratios to the first target. Medians over the rounds; the memory is from the first round. */
export function printSockets(title: string, measured: readonly TargetTurns<SocketTurn>[]): void {
  const { target: yardstick, turns: base } = measured[0]!;
  const speeds = ['connects/s', `/ ${yardstick}`, 'messages/s', `/ ${yardstick}`];
  const head = [title, ...speeds, 'KiB a socket', 'connect µs', 'message µs'];
  const rows = measured.map(({ target, turns }) => [
    target,
    median(turns, 'connectsPerSecond').toFixed(0),
    ratio(turns, base, 'connectsPerSecond').toFixed(2),
    median(turns, 'messagesPerSecond').toFixed(0),
    ratio(turns, base, 'messagesPerSecond').toFixed(2),
    turns[0]!.memory.toFixed(1),
    median(turns, 'connectCpu').toFixed(0),
    median(turns, 'messageCpu').toFixed(1),
  ]);
  print([head, ...rows]);
}

/** Rows of the file of results, with ratios to Latchkey. */
export function socketSpeedsOf(connections: number, measured: readonly TargetTurns<SocketTurn>[]): Speed[] {
  const base = measured.find(({ target }) => target === 'latchkey')!.turns;
  return measured.flatMap(({ target, turns }) => {
    const row = (operation: string, speed: keyof SocketTurn, cpu: keyof SocketTurn): Speed => ({
      target,
      operation,
      connections,
      requestsPerSecond: median(turns, speed),
      ratio: ratio(turns, base, speed),
      serviceCpu: median(turns, cpu),
    });
    return [
      { ...row('socket connect', 'connectsPerSecond', 'connectCpu'), kibPerSocket: turns[0]!.memory },
      row('socket message', 'messagesPerSecond', 'messageCpu'),
    ];
  });
}

/** Returns the figures of a table as rows of the file of results. */
export function speedsOf(
  operation: string,
  connections: number,
  base: string,
  measured: readonly TargetTurns<Turn>[],
): Speed[] {
  const yardstick = measured.find(({ target }) => target === base)!.turns;
  return measured.map(({ target, turns }) => ({
    target,
    operation,
    connections,
    requestsPerSecond: median(turns, 'requestsPerSecond'),
    ratio: ratio(turns, yardstick, 'requestsPerSecond'),
    p50: median(turns, 'p50'),
    p99: median(turns, 'p99'),
    serviceCpu: median(turns, 'serviceCpu'),
    databaseCpu: median(turns, 'databaseCpu'),
  }));
}

type Figures<Name extends string> = readonly Readonly<Record<Name, number>>[];

function median<Name extends string>(turns: Figures<Name>, figure: Name): number {
  return medianOf(turns.map((turn) => turn[figure]));
}

/** Round by round, since a machine drifts more between rounds than within one. */
function ratio<Name extends string>(turns: Figures<Name>, base: Figures<Name>, figure: Name): number {
  return medianOf(turns.map((turn, round) => turn[figure] / base[round]![figure]));
}

export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2;
}

/** Pads the columns: the first to the left, numbers to the right. A figure that does not exist is a dash. */
export function print(given: readonly (readonly string[])[]): void {
  const rows = given.map((row) => row.map((cell) => (cell === 'NaN' ? '–' : cell)));
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const lines = rows.map((row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  '),
  );
  console.log(`\n${lines.join('\n')}`);
}

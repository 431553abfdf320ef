import { availableParallelism } from 'node:os';
import type { Client } from 'pg';
import type { Options } from './options.js';
import type { SocketTurn, TargetTurns, Turn } from './turn.js';

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
${date}: ${availableParallelism()} cores, ${versions}; ${sessions} sessions, medians of ${rounds} rounds of ${seconds} s`);
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
    text(median(turns, 'requestsPerSecond'), 0),
    ...yardsticks.map((yardstick) => ratio(turns, yardstick.turns, 'requestsPerSecond')),
    text(median(turns, 'p50'), 2),
    text(median(turns, 'p99'), 2),
    text(median(turns, 'serviceCpu'), 0),
    text(median(turns, 'databaseCpu'), 0),
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
    text(median(turns, 'connectsPerSecond'), 0),
    ratio(turns, base, 'connectsPerSecond'),
    text(median(turns, 'messagesPerSecond'), 0),
    ratio(turns, base, 'messagesPerSecond'),
    turns[0]!.memory.toFixed(1),
    text(median(turns, 'connectCpu'), 0),
    text(median(turns, 'messageCpu'), 1),
  ]);
  print([head, ...rows]);
}

type Figures<Name extends string> = readonly Readonly<Record<Name, number>>[];

function median<Name extends string>(turns: Figures<Name>, figure: Name): number {
  return medianOf(turns.map((turn) => turn[figure]));
}

/** Round by round, since a machine drifts more between rounds than within one. */
function ratio<Name extends string>(turns: Figures<Name>, base: Figures<Name>, figure: Name): string {
  return medianOf(turns.map((turn, round) => turn[figure] / base[round]![figure])).toFixed(2);
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2;
}

function text(value: number, digits: number): string {
  return Number.isNaN(value) ? '–' : value.toFixed(digits);
}

/** Pads the columns: the first to the left, numbers to the right. */
function print(rows: readonly (readonly string[])[]): void {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const lines = rows.map((row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  '),
  );
  console.log(`\n${lines.join('\n')}`);
}

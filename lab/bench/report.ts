import type { Turn } from './turn.js';

/** The turns of one target, in the order of the rounds. */
export interface TargetTurns {
  readonly target: string;
  readonly turns: readonly Turn[];
}

/**
 * One table: what was measured at one number of connections. Medians over the rounds.
 * @param against the targets with which all are compared
 */
export function table(
  title: string,
  connections: number,
  against: readonly string[],
  measured: readonly TargetTurns[],
): string {
  const yardsticks = against.map((name) => measured.find(({ target }) => target === name)!);
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
    ...yardsticks.map((yardstick) => ratioOf(turns, yardstick.turns).toFixed(2)),
    median(turns, 'p50').toFixed(2),
    median(turns, 'p99').toFixed(2),
    known(median(turns, 'serviceCpu')),
    known(median(turns, 'databaseCpu')),
  ]);
  return align([head, ...rows]);
}

/** Of the requests a second; round by round, since a machine drifts more between rounds than within one. */
function ratioOf(turns: readonly Turn[], yardstick: readonly Turn[]): number {
  return medianOf(turns.map((turn, round) => turn.requestsPerSecond / yardstick[round]!.requestsPerSecond));
}

function median(turns: readonly Turn[], figure: keyof Turn): number {
  return medianOf(turns.map((turn) => turn[figure] ?? NaN));
}

export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2;
}

function known(value: number): string {
  return Number.isNaN(value) ? '-' : value.toFixed(0);
}

/** Pads the columns: the first to the left, numbers to the right. */
export function align(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  '),
    )
    .join('\n');
}

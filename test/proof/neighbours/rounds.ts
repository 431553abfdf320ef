import { isFull, reportFigure } from '../../support/proof.js';
import { quantile } from '../../support/storm.js';
import type { Wait } from './refreshes.js';

/** Quiet, disturbed, quiet again. */
export type Round = readonly [before: Wait, during: Wait, after: Wait];

/** P12 and P14: beside whoever disturbs, the slowest percent of refreshes waits at most twice as long as in quiet. */
const WANTED = 2;
/** Of fewer, the slowest percent is nothing. */
const FEWEST = 500;
export const ROUNDS = isFull ? 3 : 1;
/** As many again, where a hypervisor takes too much of one. */
const MOST_ROUNDS = isFull ? 2 * ROUNDS : 1;

export interface Told {
  /** What else was counted. */
  readonly notes?: string;
  /**
   * Whether the doubling that is promised is judged, or only told: where it is known to be missed, how long others wait depends on
   * the machine more than on the service. Left out: nothing is promised.
   */
  readonly promise?: 'judged' | 'told';
}

/**
 * Rounds, until there are enough from which something can be told, or too many.
 * @param one makes a round
 * @returns all
 */
export async function inRounds(
  one: () => Promise<Round>,
  enough = ROUNDS,
  most = MOST_ROUNDS,
): Promise<Round[]> {
  const all: Round[] = [];
  while (tellable(all).length < enough && all.length < most) all.push(await one());
  return all;
}

/** Tells what refreshes waited for in the middle of all rounds, with the spread, quiet and disturbed; then judges it. */
export function reportRounds(what: string, all: readonly Round[], { notes = '', promise }: Told = {}): void {
  if (!isFull) return judgeAnswers(all); // of times, a fraction of the load for a fraction of the time says nothing
  judgeEnough(all);
  const rounds = tellable(all);
  const quiet = rounds.flatMap(([before, , after]) => [before, after]);
  const disturbed = rounds.map(([, during]) => during);
  const failed = rounds.flat().reduce((sum, one) => sum + sumOf(one.failed), 0);
  const failedLeftOut = rounds.flat().reduce((sum, one) => sum + sumOf(one.failedLeftOut), 0);
  const count = rounds.flat().reduce((sum, one) => sum + one.count, 0);
  const leftOut = rounds.flat().reduce((sum, one) => sum + one.leftOut, 0);
  const ratio = ratioOf(rounds);
  const both = (which: 'p50' | 'late'): string =>
    [quiet, disturbed].map((waits) => middle(waits, which).toFixed(1)).join(' and ');
  const missed = promise !== undefined && ratio > WANTED;
  reportFigure({
    part: 'neighbours',
    what: `${what}${notes && `; ${notes}`}`,
    figure: {
      'p99 in quiet, ms (least to most)': spread(quiet),
      'p99 beside it, ms (least to most)': spread(disturbed),
      ratio: `${ratio.toFixed(1)}${missed ? ' (missed)' : ''}`,
      'p50, ms': both('p50'),
      'p99 of the client’s own, ms': both('late'),
      failed: `${failed} of ${(count - leftOut).toLocaleString('en')}`,
      'left out (of them failed)': `${((100 * leftOut) / count).toFixed(0)} % (${failedLeftOut})`,
      'rounds (of them left out)': `${all.length} (${all.length - rounds.length})`,
    },
    ...(promise && { wanted: `≤ ${WANTED}; 0 failed` }),
  });
  judgeAnswers(all);
  if (promise === 'judged') judgeRatio(rounds);
}

/** @throws where a refresh failed, or none was answered while somebody disturbed */
export function judgeAnswers(rounds: readonly Round[]): void {
  expect(rounds.flat().map(({ failed }) => failed)).toEqual(rounds.flat().map(() => ({})));
  for (const [, during] of rounds) expect(during.count).toBeGreaterThan(0);
}

/** @throws where the machine was too busy with others to tell anything */
export function judgeEnough(all: readonly Round[], enough = ROUNDS): void {
  expect(tellable(all).length).toBeGreaterThanOrEqual(enough);
}

/** @throws where others waited too long beside whoever disturbed */
export function judgeRatio(rounds: readonly Round[]): void {
  expect(ratioOf(rounds)).toBeLessThanOrEqual(WANTED);
}

/** Those of which enough is not left out. It depends on the time that was stolen, and not on what was waited for. */
export function tellable(rounds: readonly Round[]): Round[] {
  return rounds.filter((waits) => waits.every(({ count, leftOut }) => count - leftOut >= FEWEST));
}

/** How many times as long as in quiet the slowest percent waits, in the middle of all rounds. */
function ratioOf(rounds: readonly Round[]): number {
  const quiet = rounds.flatMap(([before, , after]) => [before, after]);
  const disturbed = rounds.map(([, during]) => during);
  return middle(disturbed, 'p99') / middle(quiet, 'p99');
}

function sumOf(failures: Readonly<Record<string, number>>): number {
  return Object.values(failures).reduce((sum, count) => sum + count, 0);
}

function spread(waits: readonly Wait[]): string {
  const all = waits.map(({ p99 }) => p99);
  return `${middle(waits, 'p99').toFixed(1)} (${Math.min(...all).toFixed(1)} to ${Math.max(...all).toFixed(1)})`;
}

function middle(waits: readonly Wait[], which: 'p50' | 'p99' | 'late'): number {
  return quantile(
    waits.map((one) => one[which]),
    0.5,
  );
}

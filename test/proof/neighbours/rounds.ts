import { isFull, reportFigure } from '../../support/proof.js';
import { quantile } from '../../support/storm.js';
import type { Wait } from './refreshes.js';

/** Quiet, disturbed, quiet again. */
export type Round = readonly [before: Wait, during: Wait, after: Wait];

const WANTED = 2;

/**
 * Tells what refreshes waited for in the middle of all rounds, with the spread, quiet and disturbed.
 * @param wanted left out: told for comparison only
 */
export function reportRounds(what: string, rounds: readonly Round[], notes = '', wanted = true): void {
  if (!isFull) return; // a fraction of the load for a fraction of the time says nothing
  const quiet = rounds.flatMap(([before, , after]) => [before, after]);
  const disturbed = rounds.map(([, during]) => during);
  const ratio = middle(disturbed, 'p99') / middle(quiet, 'p99');
  const failed = rounds.flat().reduce((sum, one) => sum + one.failed, 0);
  const count = rounds.flat().reduce((sum, one) => sum + one.count, 0);
  reportFigure({
    part: 'neighbours',
    what: `refreshes, quiet and while ${what}: p99 (least to most of ${rounds.length} rounds); of that the client's own; p50; ratio of p99; failed${notes && `; ${notes}`}`,
    figure: `${spread(quiet)} and ${spread(disturbed)} ms; ${middle(quiet, 'late').toFixed(1)} and ${middle(disturbed, 'late').toFixed(1)} ms; ${middle(quiet, 'p50').toFixed(1)} and ${middle(disturbed, 'p50').toFixed(1)} ms; ${ratio.toFixed(1)}; ${failed} of ${count}`,
    ...(wanted && { wanted: `ratio ≤ ${WANTED}; 0 failed` }),
  });
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

import { ratioOf, type TargetTurns } from '../report.js';
import type { BarGroup } from './bars.js';

const OWN = 'latchkey';

/**
 * The throughput of some targets as bars, with one of them as 1.
 * @param shown those that are drawn, in this order; ours is always the first
 */
export function ratioBars(
  heading: string,
  measured: readonly TargetTurns[],
  yardstick: string,
  shown: readonly string[],
): BarGroup {
  const turnsOf = (name: string) => measured.find(({ target }) => target === name)!.turns;
  const bars = [OWN, ...shown.filter((name) => name !== OWN)].map((name) => {
    const value = ratioOf(turnsOf(name), turnsOf(yardstick));
    return { label: name, value, text: value.toFixed(2), own: name === OWN };
  });
  return { heading, bars, mark: 1 };
}

import type { BarGroup } from '../document/bars.js';
import { median, type TargetTurns } from '../report.js';

/** CPU a request, of service and database together, as bars. */
export function costBars(heading: string, measured: readonly TargetTurns[]): BarGroup {
  const bars = measured.map(({ target, turns }) => {
    const value = median(turns, 'serviceCpu') + median(turns, 'databaseCpu');
    return { label: target, value, text: `${value.toFixed(0)} µs`, own: true };
  });
  return { heading, bars };
}

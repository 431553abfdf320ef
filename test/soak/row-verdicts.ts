import { bySpan, median, most, namesOf, seriesOf, spanOf, type Point, type Sample } from './series.js';
import { slopeOf, slopeText, times } from './slope.js';
import type { Recording } from './soak.js';
import type { Verdict } from './verdict.js';

/** Of the rows that were written in the time that is judged, one in so many may have stayed, at the upper end of the interval. */
export const ONE_IN = 50;
export const INSTANCES = 2;

/** Whether each table stays as full as it was. @param samples of the time that is judged */
export function rowVerdicts(samples: readonly Sample[], { rotations }: Recording): Verdict[] {
  const tables = namesOf(samples).flatMap((name) => (name.startsWith('rows ') ? [name.slice(5)] : []));
  return tables.map((table) => {
    if (table === 'instances') return atMost(samples, table, INSTANCES, 'the instances that run');
    // Contract §5: keys are kept, also those that sign no more.
    if (table === 'signing_keys')
      return atMost(samples, table, 1 + rotations, 'the first, and one a rotation');
    return table === 'channel_events' ? areTrimmed(samples) : comesAndGoes(samples, table);
  });
}

function atMost(samples: readonly Sample[], table: string, bound: number, why: string): Verdict {
  const points = seriesOf(samples, `rows ${table}`);
  return {
    what: `rows ${table}: middle (least to most)`,
    figure: levelText(points),
    wanted: `≤ ${bound}: ${why}`,
    holds: most(points) <= bound,
  };
}

/** Relative to what was written: how many rows a table has says nothing of how many come and go. */
function comesAndGoes(samples: readonly Sample[], table: string): Verdict {
  const points = seriesOf(samples, `rows ${table}`);
  const watched = spanOf(points);
  const [written, removed] = writtenAndRemoved(samples, table);
  const grown = times(slopeOf(bySpan(points, 1, median)), watched);
  const bound = written / ONE_IN;
  return {
    what: `rows ${table}: middle (least to most); written; removed; growth (95 % interval) in ${watched.toFixed(0)} min`,
    figure: `${levelText(points)}; ${written}; ${removed}; ${slopeText(grown, 0)}`,
    wanted: `some written and removed; upper end ≤ ${bound.toFixed(0)}, one in ${ONE_IN} written`,
    holds: written > 0 && removed > 0 && grown.high <= bound,
  };
}

/** Exactly, and whatever the level does: it rises until each history has had a hundred events, which trim it (contract §2). */
function areTrimmed(samples: readonly Sample[]): Verdict {
  const table = 'channel_events';
  const [written, removed] = writtenAndRemoved(samples, table);
  const overdue = most(seriesOf(samples, `overdue ${table}`));
  return {
    what: `rows ${table}: middle (least to most); written; removed; most at a time that should have been removed`,
    figure: `${levelText(seriesOf(samples, `rows ${table}`))}; ${written}; ${removed}; ${overdue}`,
    wanted: 'some written and removed; 0 overdue',
    holds: written > 0 && removed > 0 && overdue === 0,
  };
}

function writtenAndRemoved(samples: readonly Sample[], table: string): readonly [number, number] {
  const [written, removed] = ['written', 'removed'].map((what) =>
    risen(seriesOf(samples, `${what} ${table}`)),
  );
  return [written!, removed!];
}

export function levelText(points: readonly Point[]): string {
  const values = points.map(([, value]) => value);
  return `${median(values).toFixed(0)} (${Math.min(...values)} to ${Math.max(...values)})`;
}

/** By how much a counter has risen; NaN of nothing. */
export function risen(points: readonly Point[]): number {
  return (points.at(-1)?.[1] ?? NaN) - (points[0]?.[1] ?? NaN);
}

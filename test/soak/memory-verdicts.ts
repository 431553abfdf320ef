import { bySpan, combined, lowest, median, seriesOf, type Point, type Sample } from './series.js';
import { slopeOf, slopeText, times } from './slope.js';
import type { Verdict } from './verdict.js';

/**
 * MiB an hour. In an hour of the soak an instance answers some 350,000 requests: whoever keeps 50 bytes of each grows by more, and a
 * session, a socket or a closure that is kept is larger than that.
 */
const MOST_GROWTH_MIB = 16;
const HOUR = 60;

/** Whether the memory of an instance stays level, and where it grows. @param samples of the time that is judged */
export function memoryVerdicts(samples: readonly Sample[], instance: string): Verdict[] {
  const of = (name: string): Point[] => seriesOf(samples, `${instance} ${name}`);
  return [
    growth(`resident memory of instance ${instance}`, bySpan(of('rss MiB'), 1, median)),
    parts(samples, instance),
    // The least of each minute: what is left when garbage was collected.
    growth(`heap of instance ${instance} (least of each minute)`, bySpan(of('heap MiB'), 1, lowest)),
  ];
}

function growth(what: string, points: readonly Point[]): Verdict {
  const slope = times(slopeOf(points), HOUR);
  const level = median(points.map(([, value]) => value));
  return {
    what: `${what}: level; growth (95 % interval)`,
    figure: `${level.toFixed(0)} MiB; ${slopeText(slope)} MiB/h`,
    wanted: `upper end ≤ ${MOST_GROWTH_MIB} MiB/h`,
    holds: slope.high <= MOST_GROWTH_MIB,
  };
}

/** What resident memory is made of: V8's heap as it is reserved, buffers, pages of files, and all else. */
function parts(samples: readonly Sample[], instance: string): Verdict {
  const names = ['heap reserved MiB', 'external MiB', 'file pages MiB'].map((name) => `${instance} ${name}`);
  const rest = combined(samples, [`${instance} rss MiB`, ...names], (all, ...known) =>
    known.reduce((left, one) => left - one, all),
  );
  const told = [...names.map((name) => seriesOf(samples, name)), rest].map((points) =>
    slopeText(times(slopeOf(bySpan(points, 1, median)), HOUR)),
  );
  return {
    what: `of which, in instance ${instance}: the heap as it is reserved; buffers; pages of the program's files; all else`,
    figure: `${told.join('; ')} MiB/h`,
    holds: true,
  };
}

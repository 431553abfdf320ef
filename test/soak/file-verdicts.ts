import { CONNECTIONS } from './clients/http.js';
import { bySpan, combined, lowest, median, most, seriesOf, spanOf, type Sample } from './series.js';
import { POOL } from './settings.js';
import { slopeOf, slopeText, times } from './slope.js';
import type { Recording } from './soak.js';
import type { Verdict } from './verdict.js';

/**
 * Descriptors, beyond what is counted otherwise, that come and go: of handshakes and of sockets that are being closed, to the
 * providers, to Redis, of scrapes.
 */
const PASSING = 40;
/** By so many descriptors those may have grown in the time that is judged: a leak of one in a thousand requests is hundreds. */
const MOST_GROWTH = 10;
/** Without Redis each instance has connections to the database for hints beside its pool (realtime/postgres-hints.ts). */
const FOR_HINTS = 2;
const INSTANCES = 2;

/** Whether descriptors and connections stay what they may be. @param samples of the time that is judged */
export function fileVerdicts(samples: readonly Sample[], { before, hasRedis }: Recording): Verdict[] {
  const ofAll = INSTANCES * (POOL + (hasRedis ? 0 : FOR_HINTS));
  return [
    ...['a', 'b'].map((instance) => others(samples, before, instance)),
    ...['a', 'b'].map((instance) => atMost(samples, `${instance} pool`, POOL)),
    atMost(samples, 'database connections', ofAll),
  ];
}

/** File descriptors beyond sockets, streams and connections to the database. */
function others(samples: readonly Sample[], before: Sample, instance: string): Verdict {
  const names = ['files', 'sockets', 'streams', 'pool'].map((name) => `${instance} ${name}`);
  const rest = (among: readonly Sample[]) =>
    combined(among, names, (files, sockets, streams, pool) => files - sockets - streams - pool);
  const points = rest(samples);
  // The least of each minute: what clients keep open comes and goes with how much they do at once, and what leaks stays.
  const grown = times(slopeOf(bySpan(points, 1, lowest)), spanOf(points));
  const bound = (rest([before])[0]?.[1] ?? NaN) + CONNECTIONS + PASSING;
  const values = points.map(([, value]) => value);
  return {
    what: `file descriptors of instance ${instance}, but for sockets, streams and its pool: middle; most; growth of the least of each minute (95 % interval)`,
    figure: `${median(values).toFixed(0)}; ${most(points)}; ${slopeText(grown)}`,
    wanted: `≤ ${bound}; upper end ≤ ${MOST_GROWTH}`,
    holds: most(points) <= bound && grown.high <= MOST_GROWTH,
  };
}

/** A pool may be full at any time; more than it may have is wrong, and so is having some left in the end (verdicts.ts). */
function atMost(samples: readonly Sample[], name: string, bound: number): Verdict {
  const points = seriesOf(samples, name);
  return {
    what: `${name}: middle; most`,
    figure: `${median(points.map(([, value]) => value)).toFixed(0)}; ${most(points)}`,
    wanted: `≤ ${bound}`,
    holds: most(points) <= bound,
  };
}

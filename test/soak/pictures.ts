import type { LineChart, Line } from './line-chart.js';
import { bySpan, median, namesOf, seriesOf, type Sample } from './series.js';
import type { Recording } from './soak.js';

/** One point for each half minute: the picture is no wider. */
const SPAN = 0.5;
const MOST_LINES = 8;

/** What a soak shows, by the name of its file in docs/pictures/ (without `soak-` and `.svg`). */
export function picturesOf(
  { samples, reports }: Recording,
  windowMinutes: number,
): ReadonlyMap<string, LineChart> {
  const lines = (...series: readonly (readonly [name: string, label: string])[]): Line[] =>
    series.map(([name, label]) => ({ label, points: bySpan(seriesOf(samples, name), SPAN, median) }));
  const ofBoth = (name: string): Line[] => lines([`a ${name}`, 'instance a'], [`b ${name}`, 'instance b']);
  const latency = (quantile: 'p50' | 'p99'): Line[] =>
    (
      ['refresh', 'sign-in', 'GET /me', 'GET /devices', 'rename', 'sign-out', 'push', 'connect'] as const
    ).flatMap((kind) => {
      const points = reports.flatMap(({ latencies }, i) => {
        const seen = latencies[kind];
        return seen ? [[(i + 0.5) * windowMinutes, seen[quantile]] as const] : [];
      });
      return points.length === 0 ? [] : [{ label: kind, points }];
    });
  return new Map<string, LineChart>([
    [
      'memory',
      {
        title: 'Soak: memory',
        panels: [
          { heading: 'resident memory, MiB', lines: ofBoth('rss MiB') },
          { heading: 'heap in use, MiB', lines: ofBoth('heap MiB') },
        ],
      },
    ],
    [
      'rows',
      {
        title: 'Soak: the database',
        panels: [
          { heading: 'rows of the largest tables', lines: lines(...largest(samples, 'rows')) },
          { heading: 'rows that are dead and not reclaimed yet', lines: lines(...largest(samples, 'dead')) },
          { heading: 'size with indexes, MiB', lines: lines(...largest(samples, 'MiB')) },
        ],
      },
    ],
    [
      'files',
      {
        title: 'Soak: open files and sockets',
        panels: [
          { heading: 'file descriptors', lines: ofBoth('files') },
          { heading: 'open sockets', lines: ofBoth('sockets') },
          {
            heading: 'connections to the database',
            lines: lines(['a pool', 'pool of a'], ['b pool', 'pool of b']),
          },
        ],
      },
    ],
    [
      'latency',
      {
        title: `Soak: latency by ${windowMinutes} minutes`,
        panels: [
          { heading: 'the middle (p50), ms', lines: latency('p50') },
          { heading: 'one in a hundred (p99), ms', lines: latency('p99') },
        ],
      },
    ],
  ]);
}

/** The tables that have most of something. */
function largest(samples: readonly Sample[], what: string): (readonly [string, string])[] {
  return namesOf(samples)
    .filter((name) => name.startsWith(`${what} `) && name !== 'redis MiB')
    .map((name) => [name, median(seriesOf(samples, name).map(([, value]) => value))] as const)
    .filter(([, most]) => most > 0)
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, MOST_LINES)
    .map(([name]) => [name, name.slice(what.length + 1)] as const);
}

import { COUNTED, KINDS } from './clients/kinds.js';
import type { Report } from './clients/tally.js';
import { LIMITS, type Limit } from './limits.js';
import type { Recording } from './soak.js';
import type { Verdict } from './verdict.js';

/** Whether everything happened that a soak is about, and nothing that must not. */
export function trafficVerdicts(recording: Recording): Verdict[] {
  return [unexpected(recording), kinds(recording), ...LIMITS.map((limit) => beyond(recording, limit))];
}

/** How often the clients did something, or saw it. */
export function timesOf(reports: readonly Report[], what: string): number {
  return reports.reduce(
    (sum, { latencies, counts }) =>
      sum + ((latencies as Partial<Record<string, { count: number }>>)[what]?.count ?? counts[what] ?? 0),
    0,
  );
}

function unexpected({ reports }: Recording): Verdict {
  const wrong = reports.flatMap((report) => Object.entries(report.unexpected));
  const count = wrong.reduce((sum, [, often]) => sum + often, 0);
  const texts = [...new Set(wrong.map(([text]) => text))];
  const asked = KINDS.reduce((sum, kind) => sum + timesOf(reports, kind), 0);
  return {
    what: 'requests and connects; answers that no client should get',
    figure: `${asked}; ${[count, ...texts].join('; ')}`,
    wanted: '0 of them',
    holds: count === 0,
  };
}

function kinds({ reports }: Recording): Verdict {
  const all = [...KINDS, ...COUNTED].map((what) => [what, timesOf(reports, what)] as const);
  return {
    what: 'of which, and what was seen on sockets and streams',
    figure: all.map(([what, often]) => `${what} ${often}`).join('; '),
    wanted: 'each in each window',
    holds: reports.every((report) => all.every(([what]) => timesOf([report], what) > 0)),
  };
}

/** Each count lasts a minute from its first request, so of `minutes` there are one more at most. */
function beyond({ reports, allowed, samples }: Recording, limit: Limit): Verdict {
  const { aMinute, counters } = allowed[limit];
  const [passed, refused] = ['let through', 'refused'].map((what) =>
    timesOf(reports, `beyond ${limit}: ${what}`),
  );
  const minutes = Math.ceil(samples.at(-1)?.minutes ?? NaN) + 1;
  const bound = aMinute * counters * minutes;
  return {
    what: `beyond the limit ${limit}, ${aMinute} a minute${counters > 1 ? ' and instance' : ''}: let through; refused (429)`,
    figure: `${passed}; ${refused}`,
    wanted: `≤ ${bound}; some`,
    holds: passed! <= bound && refused! > 0,
  };
}

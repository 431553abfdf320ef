import type { Latency } from './clients/tally.js';
import type { Recording } from './soak.js';
import type { Verdict } from './verdict.js';

const MOST_TOLD = [
  'refresh',
  'sign-in',
  'GET /me',
  'GET /devices',
  'rename',
  'sign-out',
  'push',
  'connect',
] as const;

/** p50 and p99 of each kind of request for each window, told and not judged: they are of the machine as well. */
export function latencyFigures({ reports }: Recording, windowMinutes: number): Verdict[] {
  return MOST_TOLD.map((kind) => {
    const windows = reports.flatMap(({ latencies }) => latencies[kind] ?? []);
    const list = (of: (one: Latency) => number): string =>
      windows.map((one) => of(one).toFixed(1)).join(' · ');
    return {
      what: `${kind}, from the due time, by ${windowMinutes} minutes: p50; p99`,
      figure: `${list(({ p50 }) => p50)}; ${list(({ p99 }) => p99)} ms`,
      holds: true,
    };
  });
}

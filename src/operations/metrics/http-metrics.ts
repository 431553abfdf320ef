import type { Events } from '../../events.js';
import { Counter, Histogram, type Registry } from './prom-client.js';
/** Seconds: from a refresh that needs one short statement to what waits for a provider (5 s at most). */
const BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS']);

/** Of a request whose path and method have no route: strangers can make up any number of those. */
const NO_ROUTE = 'none';
/** Of an answer that the client did not wait for. */
const ABORTED = 'aborted';

/** Requests, by the templates of our routes: whatever a stranger sends makes no series that an honest client could not make. */
export function httpMetrics(registry: Registry, events: Events): void {
  const durations = new Histogram({
    name: 'latchkey_http_request_duration_seconds',
    help: 'Requests from their head to the end of their answer. Sockets and event streams are not among them.',
    labelNames: ['method', 'route', 'status'],
    buckets: BUCKETS,
    registers: [registry],
  });
  const unreadable = new Counter({
    name: 'latchkey_http_unreadable_requests_total',
    help: 'Requests that were refused before their path was known: malformed, too long, or too slow.',
    registers: [registry],
  });

  // A series is looked up by one text, and kept: series.ts.
  const series = new Map<string, (seconds: number) => void>();
  events.on('request.ended', ({ method, route = NO_ROUTE, status, answered, seconds }) => {
    const outcome = answered ? String(status) : ABORTED;
    const key = `${method} ${route} ${outcome}`;
    const known = series.get(key);
    if (known) return known(seconds);
    const labels = { method, route, status: outcome };
    if (!METHODS.has(method)) return durations.observe({ ...labels, method: 'other' }, seconds);
    const add = seriesOf(durations, labels);
    series.set(key, add); // one entry for each series, and so as few
    add(seconds);
  });
  events.on('request.unreadable', () => unreadable.inc());
}

/** The part of prom-client's histogram that is used here; package.json names one exact version of it. */
interface Inside {
  readonly upperBounds: readonly number[];
  readonly hashMap: Readonly<Record<string, Values>>;
}
interface Values {
  readonly labels: object;
  readonly bucketValues: Record<string, number>;
  sum: number;
  count: number;
}

/**
 * One series of a histogram, to which values are added without checking its labels and making a text of them each time: 0.09 µs a
 * value in place of 0.44.
 *
 * @param labels all that the histogram has
 * @returns adds a value, as the histogram itself would
 */
export function seriesOf(histogram: Histogram, labels: Record<string, string>): (value: number) => void {
  histogram.zero(labels); // makes the series
  const { upperBounds, hashMap } = histogram as unknown as Inside;
  const values = Object.values(hashMap).findLast((series) => series.labels === labels)!;
  const names = upperBounds.map(String); // once: JavaScript would make the name of a member from the number each time
  return (value) => {
    values.sum += value;
    values.count++;
    const name = names[upperBounds.findIndex((bound) => value <= bound)];
    if (name !== undefined) values.bucketValues[name]!++;
  };
}

import type { Events } from '../../events.js';
import { Counter, Histogram, type Registry } from './prom-client.js';
import { seriesOf } from './series.js';

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

import type { Events } from '../../platform/events.js';
import type { Meter } from './meter.js';

/** Seconds: from a refresh, one short statement, to a call that waits for a provider (5 s at most). */
const BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Methods that are named in metrics and traces. */
export const METHODS = new Set<string>(['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS']);

/** Registers metrics of requests. Labels have closed sets of values, so clients cannot create series. */
export function httpMetrics(meter: Meter, events: Events): void {
  const durations = meter.histogram(
    'latchkey_http_request_duration_seconds',
    'Requests from their head to the end of their answer. Sockets and event streams are not among them.',
    BUCKETS,
    'method',
    'route',
    'status',
  );
  const unreadable = meter.counter(
    'latchkey_http_unreadable_requests_total',
    'Requests that were refused before their path was known: malformed, too long, or too slow.',
  );
  events.on('request.ended', ({ method, route = 'none', status, answered, seconds }) => {
    const labels = {
      method: METHODS.has(method) ? method : 'other',
      route,
      status: answered ? String(status) : 'aborted',
    };
    durations.observe(labels, seconds);
  });
  events.on('request.unreadable', () => unreadable.inc());
}

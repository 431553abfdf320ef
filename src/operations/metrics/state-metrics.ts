import type { Gauge } from '../../platform/declared.js';
import type { Events, ServiceState, Total } from '../../platform/events.js';
import type { Readiness } from '../readiness.js';
import type { Meter } from './meter.js';

const READINGS: readonly (readonly [key: keyof ServiceState, name: string, help: string])[] = [
  ['sockets', 'latchkey_sockets', 'Open sockets.'],
  ['connectedUsers', 'latchkey_connected_users', 'Users with a socket at this instance.'],
  ['handshakesWaiting', 'latchkey_handshakes_waiting', 'Handshakes that wait for a transport.'],
  ['transportsWaiting', 'latchkey_transports_waiting', 'Transports that wait to be admitted.'],
  ['historyReadsWaiting', 'latchkey_history_reads_waiting', 'Reads of histories that wait for their turn.'],
  ['hintsUnsent', 'latchkey_hints_unsent', 'Users with unsent notifications to other instances.'],
  [
    'hintsArrive',
    'latchkey_hints_up',
    'Whether notifications of other instances arrive, over Redis or PostgreSQL: 1 or 0.',
  ],
  [
    'endedSessionStreams',
    'latchkey_ended_session_streams',
    'Open streams of ended sessions (GET /sessions/ended).',
  ],
  [
    'webhookDelay',
    'latchkey_webhook_delay_seconds',
    'Age of the oldest event that the slowest webhook has not accepted; 0 at instances that send none.',
  ],
];

const TOTALS: readonly (readonly [total: Total, name: string, help: string])[] = [
  ['users', 'latchkey_users', 'Users of all instances, counted once a minute; above a million an estimate.'],
  [
    'live_sessions',
    'latchkey_live_sessions',
    'Living sessions of all instances, counted once a minute; above a million an estimate.',
  ],
];

/** Registers the state that other modules report at each scrape. @param gauges of features */
export function stateMetrics(
  meter: Meter,
  events: Events,
  readiness: Readiness,
  gauges: readonly Gauge[],
): void {
  const state = (): Partial<ServiceState> => {
    const all: Partial<ServiceState> = {};
    events.emit('state.requested', (some) => Object.assign(all, some));
    return all;
  };
  const ofFeatures = gauges.map(({ key, name, help }) => [key, name, help] as const);
  for (const [key, name, help] of [...READINGS, ...ofFeatures])
    meter.gauge(name, help, () => Number(state()[key] ?? 0));
  for (const [total, name, help] of TOTALS) meter.gauge(name, help, () => count(events, total));
  meter.total(
    'latchkey_audit_events_left_out_total',
    'Refusals that were not stored in the audit trail, since there were more than a thousand a second.',
    () => state().auditEventsLeftOut ?? 0,
  );
  meter.total(
    'latchkey_webhook_events_set_aside_total',
    'Events that a webhook has refused, and did not get; the audit trail names them.',
    () => state().webhookEventsSetAside ?? 0,
  );
  meter.total(
    'latchkey_deliveries_total',
    'Events sent to sockets; an event for three sockets counts three times.',
    () => state().deliveries ?? 0,
  );
  meter.gauge(
    'latchkey_signing_key_active_timestamp_seconds',
    'First use of the signing key; a new key follows after 90 days.',
    () => (state().signingKeyActiveAt ?? 0) / 1000,
  );
  meter.gauge(
    'latchkey_ready',
    'Whether the instance takes requests, as /health/ready says: 1 or 0.',
    async () => Number((await readiness.database()) === 'up' && !readiness.isStopping),
  );
  let readAt = 0;
  events.on('sessions.read', () => (readAt = Date.now()));
  meter.gauge(
    'latchkey_ended_sessions_read_timestamp_seconds',
    'Time of the last reading of ended sessions (0: never); twice a second.',
    () => readAt / 1000,
  );
}

/** @returns NaN while the database cannot count; the other metrics must not fail with it */
async function count(events: Events, total: Total): Promise<number> {
  let counting: Promise<number> | undefined;
  events.emit('total.requested', (name, result) => {
    if (name === total) counting = result;
  });
  return (await counting?.catch(() => NaN)) ?? NaN;
}

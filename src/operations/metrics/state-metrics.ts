import type { Events, ServiceState } from '../../events.js';
import type { Readiness } from '../readiness.js';
import type { Registry } from './prom-client.js';
import { counterOf, gaugeOf } from './readings.js';

type Reading = readonly [key: keyof ServiceState, name: string, help: string];

const READINGS: readonly Reading[] = [
  ['sockets', 'latchkey_sockets', 'Open sockets.'],
  ['connectedUsers', 'latchkey_connected_users', 'Users who have a socket at this instance.'],
  ['handshakesWaiting', 'latchkey_handshakes_waiting', 'Handshakes that wait for a transport.'],
  ['transportsWaiting', 'latchkey_transports_waiting', 'Transports that wait to be admitted.'],
  ['historyReadsWaiting', 'latchkey_history_reads_waiting', 'Reads of histories that wait for their turn.'],
  ['hintsUnsent', 'latchkey_hints_unsent', 'Users of whose events other instances have not been told yet.'],
  [
    'hintsArrive',
    'latchkey_hints_up',
    'Whether hints of other instances arrive, over Redis or PostgreSQL: 1 or 0.',
  ],
  [
    'endedSessionStreams',
    'latchkey_ended_session_streams',
    'Open streams of ended sessions (GET /sessions/ended).',
  ],
];

/** What rooms tell of themselves, whenever metrics are asked for. */
export function stateMetrics(registry: Registry, events: Events, readiness: Readiness): void {
  const asked = (): Partial<ServiceState> => {
    const all: Partial<ServiceState> = {};
    events.emit('state.asked', (some) => Object.assign(all, some));
    return all;
  };
  for (const [key, name, help] of READINGS) gaugeOf(registry, name, help, () => Number(asked()[key] ?? 0));
  counterOf(
    registry,
    'latchkey_deliveries_total',
    'Events given to sockets; an event for three sockets counts three times.',
    () => asked().deliveries ?? 0,
  );
  gaugeOf(
    registry,
    'latchkey_signing_key_active_timestamp_seconds',
    'When the key that signs access tokens was first used; it is followed after 90 days.',
    () => (asked().signingKeyActiveAt ?? 0) / 1000,
  );
  gaugeOf(
    registry,
    'latchkey_ready',
    'Whether the instance takes requests, as /health/ready says: 1 or 0.',
    async () => ((await readiness.database()) === 'up' && !readiness.isStopping ? 1 : 0),
  );
  let read = 0;
  events.on('sessions.read', () => (read = Date.now()));
  gaugeOf(
    registry,
    'latchkey_ended_sessions_read_timestamp_seconds',
    'When this instance last read which sessions have ended (0: never); it does so twice a second.',
    () => read / 1000,
  );
}

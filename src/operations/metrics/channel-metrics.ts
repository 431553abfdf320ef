import type { Events } from '../../platform/events.js';
import type { Meter } from './meter.js';

const PAGE = [0, 1, 10, 50, 100]; // events; a page has 100 at most
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

export function channelMetrics(meter: Meter, events: Events): void {
  const handshakes = meter.counter(
    'latchkey_socket_handshakes_total',
    'Handshakes of sockets, by outcome: ok, or the error code.',
    'outcome',
  );
  const closed = meter.counter(
    'latchkey_sockets_closed_total',
    'Sockets that were closed, by reason: client (it went, or was lost), or the reason that session.ended gave.',
    'reason',
  );
  const appended = meter.counter(
    'latchkey_channel_events_total',
    'Events of channels, by source: push, or service (device.*). kept: no with a ttl of 0.',
    'source',
    'kept',
  );
  const sent = meter.counter(
    'latchkey_hints_sent_total',
    'Notifications to other instances, by outcome: ok or failed.',
    'outcome',
  );
  const received = meter.counter(
    'latchkey_hints_received_total',
    'Notifications of other instances, by kind: offset (the latest of a history), event (ttl 0), or doubtful (unknown).',
    'kind',
  );
  const pages = meter.histogram(
    'latchkey_history_read_size',
    'Events in a page of a history that was read for sockets.',
    PAGE,
  );
  const reads = meter.histogram(
    'latchkey_history_read_duration_seconds',
    'Time that sockets waited for a page of a history.',
    SECONDS,
  );

  events.on('handshake.finished', ({ error: outcome = 'ok' }) => handshakes.inc({ outcome }));
  events.on('socket.closed', ({ reason }) => closed.inc({ reason }));
  events.on('channel.appended', (all) => {
    for (const { event, offset } of all) {
      const source = event.startsWith('device.') ? 'service' : 'push';
      appended.inc({ source, kept: offset === null ? 'no' : 'yes' });
    }
  });
  events.on('notification.sent', ({ ok }) => sent.inc({ outcome: ok ? 'ok' : 'failed' }));
  events.on('notification.received', ({ kind }) => received.inc({ kind }));
  events.on('history.read', ({ events: size, seconds }) => {
    pages.observe(size);
    reads.observe(seconds);
  });
}

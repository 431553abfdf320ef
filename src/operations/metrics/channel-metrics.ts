import type { Events } from '../../events.js';
import { Counter, Histogram, type Registry } from './prom-client.js';

const PAGE = [0, 1, 10, 50, 100]; // events; a page has 100 at most
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** Sockets, and what travels to them. Never by user, nor by the name of an event. */
export function channelMetrics(registry: Registry, events: Events): void {
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers });

  const handshakes = counter(
    'latchkey_socket_handshakes_total',
    'Handshakes of sockets, by outcome: ok, or the error that the client was told.',
    'outcome',
  );
  const closed = counter(
    'latchkey_sockets_closed_total',
    'Sockets that were closed, by reason: client (it went, or was lost), or the reason that session.ended gave.',
    'reason',
  );
  const appended = counter(
    'latchkey_channel_events_total',
    'Events of channels, by source: push, or service (device.*). kept: no with a ttl of 0.',
    'source',
    'kept',
  );
  const sent = counter(
    'latchkey_hints_sent_total',
    'Notifications to other instances, by outcome: ok or failed.',
    'outcome',
  );
  const received = counter(
    'latchkey_hints_received_total',
    'Notifications of other instances, by kind: offset (the latest of a history), event (ttl 0), or doubtful (unknown).',
    'kind',
  );
  const pages = new Histogram({
    name: 'latchkey_history_read_size',
    help: 'Events in a page of a history that was read for sockets.',
    buckets: PAGE,
    registers,
  });
  const reads = new Histogram({
    name: 'latchkey_history_read_duration_seconds',
    help: 'How long sockets waited for a page of a history.',
    buckets: SECONDS,
    registers,
  });

  events.on('handshake.judged', ({ error: outcome = 'ok' }) => handshakes.inc({ outcome }));
  events.on('socket.closed', ({ reason }) => closed.inc({ reason }));
  events.on('channel.appended', ({ event, offset }) =>
    appended.inc({
      source: event.startsWith('device.') ? 'service' : 'push',
      kept: offset === null ? 'no' : 'yes',
    }),
  );
  events.on('hint.sent', ({ ok }) => sent.inc({ outcome: ok ? 'ok' : 'failed' }));
  events.on('hint.received', ({ kind }) => received.inc({ kind }));
  events.on('history.read', ({ events: size, seconds }) => {
    pages.observe(size);
    reads.observe(seconds);
  });
}

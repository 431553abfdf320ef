import {
  accepted,
  any,
  connect,
  connectAnywhere,
  cursor,
  end,
  ended,
  introspection,
  ready,
  refused,
  refuseStream,
  send,
  state,
} from './steps.mjs';
import { token } from './tokens.mjs';

const WAYS = ['introspect', 'accept', 'refuse'];
const ACTIVE = '{"active":true,"roles":["admin"],"claims":{"plan":"pro"}}';

export function away(named) {
  const ada = named('good', token({ roles: ['admin'], claims: { plan: 'pro' } }));
  const grace = named('grace', token({ sub: 'grace', sid: 'session-of-grace' }));
  const forged = named('flipped');
  const open = (...past) => [connect(0), send(0, ...past, ready('c0'))];
  /** What a token with a valid signature gets while the feed is away, and introspection says that it is active. */
  const byWay = (at, way) =>
    way === 'refuse' ? refused(at, ada, 'temporarily_unavailable') : accepted(at, ada);
  const asked = (way, count) => ({ introspections: way === 'introspect' ? count : 0 });
  const each = (name, stepsOf) =>
    WAYS.map((whenAway) => ({
      name: `${whenAway}: ${name}`,
      options: { serviceKey: true, whenAway },
      steps: [introspection(0, 200, ACTIVE), ...stepsOf(whenAway)],
    }));
  return [
    ...each('from connecting until `ready`', (way) => [
      state(0, { notified: false }),
      byWay(0, way),
      connect(0),
      send(0, ': 1\n\n', 'id: c1\n\n', ended('session-of-grace')),
      state(0, { notified: false, sessions: 1 }),
      byWay(1.5, way),
      refused(1.5, grace),
      refused(1.5, forged),
      send(1.6, ready('c2')),
      state(1.6, { notified: true, ...asked(way, 2) }),
      accepted(1.6, ada),
    ]),
    ...each('two seconds without a cursor are silence; the reader reconnects with its last cursor', (way) => [
      ...open(ended('session-of-grace')),
      send(0.5, cursor('c1')),
      state(2.4, { notified: true }),
      accepted(2.4, ada),
      state(2.6, { notified: false }),
      byWay(2.6, way),
      refused(2.6, grace),
      connect(3, 'c1'),
      state(3, { notified: false }),
      send(3, ready('c2')),
      state(3, { notified: true, ...asked(way, 1) }),
      accepted(3, ada),
    ]),
    ...each('events and comments without a cursor do not end a silence', (way) => [
      ...open(),
      send(1, ': 1\n\n', ended('session-of-grace')),
      state(1.9, { notified: true }),
      send(1.9, 'event: later\ndata: x\n\n'),
      state(2.1, { notified: false }),
      byWay(2.1, way),
      connect(4.5, 'c0'),
    ]),
    ...each('bytes after a silence do not count: this process may have been paused', (way) => [
      ...open(),
      send(2.6, cursor('c1')),
      state(2.6, { notified: false }),
      byWay(2.6, way),
      connectAnywhere(3),
      send(3, ready('c2')),
      state(3, { notified: true }),
    ]),
    ...each('a `ready` after a silence does not count either', (way) => [
      connect(0),
      send(0, ': 1\n\n'),
      send(2.6, ended('session-of-grace'), ready('c1')),
      state(2.6, { notified: false }),
      byWay(2.6, way),
      connectAnywhere(3),
      send(3, ended('session-of-grace'), ready('c2')),
      state(3, { notified: true, sessions: 1 }),
    ]),
    ...each('the stream ends', (way) => [
      ...open(ended('session-of-grace')),
      end(0.5),
      state(0.5, { notified: false }),
      byWay(0.5, way),
      refused(0.5, grace),
      connect(1, 'c0'),
      send(1, ready('c1')),
      state(1, { notified: true, sessions: 1 }),
    ]),
    ...each('the service answers with an error, then with the stream', (way) => [
      refuseStream(0, 500),
      byWay(0, way),
      refuseStream(0.5, 429),
      refuseStream(1, 404),
      byWay(1, way),
      connect(1.5),
      send(1.5, ready('c0')),
      state(1.5, { notified: true }),
    ]),
    ...[401, 403].flatMap((status) =>
      WAYS.map((whenAway) => ({
        name: `${whenAway}: the service refuses the key with ${status}`,
        options: { serviceKey: true, whenAway },
        steps: [
          introspection(0, status, '{"error":"invalid_token","error_description":"x"}'),
          refuseStream(0, status),
          whenAway === 'accept' ? accepted(0, ada) : refused(0, ada, 'service_key_refused'),
          refused(0, forged),
          connect(1),
          send(1, ready('c0')),
          accepted(1, ada),
        ],
      })),
    ),
    ...[
      ['is not active', 200, '{"active":false}', 'invalid_token'],
      ['is an error', 500, '{"error":"server_error"}', 'temporarily_unavailable'],
      ['is slow_down', 429, '{"error":"slow_down"}', 'temporarily_unavailable'],
      ['is no JSON', 200, '<html>', 'temporarily_unavailable'],
      ['has an active that is no boolean', 200, '{"active":"yes"}', 'temporarily_unavailable'],
      ['has no active', 200, '{"sub":"ada"}', 'temporarily_unavailable'],
      ['is a code of the service', 400, '{"error":"invalid_request"}', 'temporarily_unavailable'],
    ].map(([name, status, body, error]) => ({
      name: `introspect: the answer ${name}`,
      options: { serviceKey: true },
      steps: [introspection(0, status, body), refused(0, ada, error)],
    })),
    {
      name: 'introspect: no answer',
      options: { serviceKey: true },
      steps: [refused(0, ada, 'temporarily_unavailable')],
    },
    {
      name: 'introspect: an answer counts for a second, a failure is asked again',
      options: { serviceKey: true },
      steps: [
        introspection(0, 500, ''),
        refused(0, ada, 'temporarily_unavailable'),
        introspection(0, 200, ACTIVE),
        accepted(0, ada),
        accepted(0.9, ada),
        state(0.9, { introspections: 2 }),
        introspection(1.1, 200, '{"active":false}'),
        refused(1.1, ada),
        state(1.1, { introspections: 3 }),
        any(1.2, ada),
      ],
    },
    {
      name: 'without a service key there is no feed and no introspection',
      options: {},
      steps: [accepted(0, ada), state(0, { notified: false, introspections: 0 })],
    },
  ];
}

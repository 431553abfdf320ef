import {
  accepted,
  connect,
  cursor,
  end,
  ended,
  keyRevoked,
  keys,
  ready,
  refused,
  repeat,
  send,
  state,
  time,
} from './steps.mjs';
import { START, token } from './tokens.mjs';

const feed = { serviceKey: true };
const uuid = (i) => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;

export function sessions(named) {
  const ada = named('good', token({ roles: ['admin'], claims: { plan: 'pro' } }));
  const grace = named('grace', token({ sub: 'grace', sid: 'session-of-grace' }));
  const eight = named('long', token({ exp: START / 1000 + 8 * 3600, jti: 'long' }));
  const k2 = named('grace-k2', token({ sid: 'session-of-grace', sub: 'grace' }, { header: { kid: 'k2' } }));
  const [first, last, none] = [0, 99_999, 100_000].map((i) => named(`many-${i}`, token({ sid: uuid(i) })));
  const open = (...past) => [connect(0), send(0, ...past, ready('c0'))];
  return [
    {
      name: 'sessions of the past and of this moment are refused, others are not',
      options: feed,
      steps: [
        ...open(ended('session-of-ada')),
        state(0, { notified: true, sessions: 1 }),
        refused(0, ada),
        accepted(0, grace),
        send(0.5, ended('session-of-grace')),
        refused(0.5, grace),
        state(0.5, { introspections: 0 }),
      ],
    },
    {
      name: 'a session that ends before `ready` is refused already',
      options: { ...feed, whenAway: 'accept' },
      steps: [connect(0), accepted(0, ada), send(0, ended('session-of-ada')), refused(0, ada)],
    },
    {
      name: 'repeated events change nothing; members that are unknown are ignored',
      options: feed,
      steps: [
        ...open(ended('session-of-ada'), ended('session-of-ada', 3600, { cause: 'idle', more: { x: [1] } })),
        state(0, { notified: true, sessions: 1 }),
        refused(0, ada),
      ],
    },
    {
      name: 'unknown events are ignored, whatever their data are',
      options: feed,
      steps: [
        ...open(),
        send(0.5, 'event: later\ndata: no JSON\n\n', 'data: {"session_id":"session-of-ada"}\n\n'),
        state(0.5, { notified: true, sessions: 0 }),
        accepted(0.5, ada),
        send(0.6, cursor('c1')),
        state(2.5, { notified: true }),
      ],
    },
    {
      name: 'a session is forgotten some minutes after `until`, not before',
      options: feed,
      steps: [
        ...open(ended('session-of-ada', 60), ended('session-of-grace', 3600)),
        state(0, { sessions: 2 }),
        connect(61, 'c0'),
        send(61, ready('c1')),
        state(61, { sessions: 2 }), // this machine's clock may be set back a little
        refused(61, eight),
        connect(700, 'c1'),
        send(700, ready('c2'), cursor('c3')),
        state(700, { notified: true, sessions: 1 }),
        refused(700, grace),
      ],
    },
    {
      name: 'the later `until` counts, whichever comes last',
      options: feed,
      steps: [
        ...open(ended('session-of-ada', 3600), ended('session-of-ada', 60)),
        connect(700, 'c0'),
        send(700, ready('c1'), cursor('c2')),
        state(700, { sessions: 1 }),
        refused(700, ada),
      ],
    },
    {
      name: 'a session whose `until` has long passed is not kept',
      options: feed,
      steps: [...open(ended('session-of-ada', -3600)), state(0, { notified: true, sessions: 0 })],
    },
    {
      name: 'a time with an offset or without fractions is the same time',
      options: feed,
      steps: [
        ...open(
          ended('session-of-ada', 0, { until: time(3600).replace('.000Z', '+00:00') }),
          ended('session-of-grace', 0, { until: time(3600).replace('.000Z', 'Z') }),
        ),
        refused(0, ada),
        refused(0, grace),
        connect(700, 'c0'),
        send(700, ready('c1'), cursor('c2')),
        state(700, { sessions: 2 }),
      ],
    },
    {
      name: 'a key that is withdrawn: its tokens are refused, also if it is still published',
      options: feed,
      steps: [
        keys(0, 'k1', 'k2'),
        ...open(),
        accepted(0, ada),
        send(0.5, keyRevoked('k1')),
        refused(0.5, ada),
        accepted(1.9, k2),
        refused(1.9, ada),
      ],
    },
    {
      name: 'a withdrawn key stays withdrawn after a reconnect that does not name it',
      options: feed,
      steps: [
        ...open(keyRevoked('k1')),
        refused(0, ada),
        end(0.5),
        connect(1, 'c0'),
        send(1, ready('c1')),
        state(1, { notified: true }),
        refused(1, ada),
      ],
    },
    {
      name: 'a feed of 100,000 sessions',
      options: feed,
      steps: [
        connect(0),
        repeat(0, 100_000, ended('00000000-0000-4000-8000-{i}')),
        state(0, { notified: false, sessions: 100_000 }),
        send(0, ready('c0')),
        state(0, { notified: true, sessions: 100_000 }),
        refused(0, first),
        refused(0, last),
        accepted(0, none),
      ],
    },
  ];
}

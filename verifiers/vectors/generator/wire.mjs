import {
  accepted,
  answer,
  claimsChanged,
  connect,
  cursor,
  end,
  ended,
  keyRevoked,
  ready,
  refused,
  send,
  state,
} from './steps.mjs';
import { token } from './tokens.mjs';

const feed = { serviceKey: true, whenAway: 'refuse' };
const LONGEST = 65_536;

export function wire(named) {
  const ada = named('good', token({ roles: ['admin'], claims: { plan: 'pro' } }));
  const it = ended('session-of-ada');
  const open = [connect(0), send(0, ready('c0'))];
  const isBroken = [
    state(0.5, { notified: false }),
    refused(0.5, ada, 'temporarily_unavailable'),
    connect(1, 'c0'),
    send(1, ready('c1')),
    state(1, { notified: true }),
  ];
  /** The reader stores `c9`, which it sends when it connects again. */
  const then = (at, stored = 'c9') => [end(at), connect(at + 0.5, stored)];
  const one = (name, bytes, ...steps) => ({
    name,
    options: feed,
    steps: [...open, send(0.5, ...bytes), ...steps],
  });
  const read = (name, ...bytes) =>
    one(name, bytes, state(0.5, { notified: true, sessions: 1 }), refused(0.5, ada), ...then(1));
  const ignored = (name, ...bytes) =>
    one(name, bytes, state(0.5, { notified: true, sessions: 0 }), accepted(0.5, ada), ...then(1, 'c0'));
  const broken = (name, ...bytes) => one(name, bytes, ...isBroken);
  const inPieces = (text, size) => text.match(new RegExp(`[^]{1,${size}}`, 'g'));
  const cut = (text, size) => {
    const bytes = Buffer.from(text);
    const starts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => i * size);
    return starts.map((at) => ({ base64: bytes.subarray(at, at + size).toString('base64') }));
  };
  return [
    read('LF', it, cursor('c9')),
    read('CR LF', (it + cursor('c9')).replaceAll('\n', '\r\n')),
    read('CR', `${(it + cursor('c9')).replaceAll('\n', '\r')}:`),
    read('one byte at a time', ...inPieces(it + cursor('c9'), 1)),
    read('CR LF, one byte at a time', ...inPieces((it + cursor('c9')).replaceAll('\n', '\r\n'), 1)),
    {
      name: 'characters of several bytes, in pieces of three bytes',
      options: feed,
      steps: [
        ...open,
        send(0.5, ...cut(claimsChanged({ name: 'é€😀é€😀' }), 3)),
        accepted(0.5, ada, { name: 'é€😀é€😀' }),
      ],
    },
    read('no space after the colon', it.replaceAll(': ', ':'), 'id:c9\n\n'),
    read('data of several lines', it.replace(',', ',\ndata: '), cursor('c9')),
    read(
      'data before the name, and a name twice',
      `event: later\n${it.split('\n')[1]}\nevent: ended\n\n`,
      cursor('c9'),
    ),
    read('fields that are unknown', `retry: 5\nx\n: x\n${it}`, cursor('c9')),
    read('a block of an id only', it, 'id: c9\n\n'),
    read('an id in the block of an event', it.replace('data', 'id: c9\ndata')),
    ignored('an event without data', 'event: ended\n\n'),
    ignored('an event whose block has not ended', it.slice(0, -1)),
    ignored('a name of another case', it.replace('ended', 'Ended')),
    ignored('an id with NUL', 'id: c9\0\n\n'),
    ignored('a cursor that no header can carry', 'id: c 9\n\n', 'id: ü\n\n'),
    ignored('a cursor of more than 1,024 characters', `id: ${'c'.repeat(1025)}\n\n`),
    ignored('a comment without an id, and a retry', ': c9\n\n', 'retry: 9\n\n'),
    {
      name: 'a byte order mark at the beginning',
      options: feed,
      steps: [connect(0), send(0, '\ufeff' + it + ready('c9')), refused(0, ada), ...then(1)],
    },
    {
      name: 'a cursor of another kind is sent as it came',
      options: feed,
      steps: [...open, send(0.5, 'id: a/b+c==:~"1\n\n'), ...then(1, 'a/b+c==:~"1')],
    },
    {
      name: 'a cursor before `ready` is stored',
      options: feed,
      steps: [connect(0), send(0, 'id: c9\n\n'), state(0, { notified: false }), ...then(0.5)],
    },
    {
      name: 'an id counts for its block alone: what follows it is no sign of life',
      options: feed,
      steps: [
        ...open,
        send(0.5, cursor('c1')),
        send(2.4, ':\n\n'),
        state(2.6, { notified: false }),
        connect(4.5, 'c1'),
      ],
    },
    broken('ended: no JSON', 'event: ended\ndata: {"session_id"\n\n'),
    broken('ended: null', 'event: ended\ndata: null\n\n'),
    broken(
      'ended: a session that is no text',
      'event: ended\ndata: {"session_id":7,"until":"2027-01-01T00:00:00Z"}\n\n',
    ),
    broken('ended: no until', 'event: ended\ndata: {"session_id":"session-of-ada"}\n\n'),
    broken('ended: an until that is no time', ended('session-of-ada', 0, { until: 'soon' })),
    broken('key_revoked: no kid', 'event: key_revoked\ndata: {}\n\n'),
    broken('key_revoked: a kid that is no text', keyRevoked(1)),
    broken('claims_voided: no user', 'event: claims_voided\ndata: {"voided_at":"2027-01-01T00:00:00Z"}\n\n'),
    broken('claims_voided: no time', 'event: claims_voided\ndata: {"user_id":"ada"}\n\n'),
    broken('a line of more than 64 KiB', `: ${'x'.repeat(LONGEST)}\n\n`),
    broken(
      'a line of more than 64 KiB that does not end',
      ...Array.from({ length: 66 }, () => 'x'.repeat(1000)),
    ),
    broken('an event of more than 64 KiB', `event: later\n${`data: ${'x'.repeat(1000)}\n`.repeat(66)}\n`),
    ...Object.entries({
      'is a redirect: the key is for the service alone': [302, 'text/html', { Location: '/sessions/ended' }],
      'is a success without content': [204, 'text/event-stream'],
    }).map(([name, parts]) => ({
      name: `the answer ${name}`,
      options: feed,
      steps: [
        answer(0, ...parts),
        refused(0, ada, 'temporarily_unavailable'),
        connect(0.5),
        send(0.5, ready('c0')),
        accepted(0.5, ada),
      ],
    })),
    {
      name: 'the answer is no event stream, although it looks like one',
      options: feed,
      steps: [
        { ...connect(0), type: 'text/plain' },
        send(0, ready('c0')),
        state(0, { notified: false }),
        refused(0, ada, 'temporarily_unavailable'),
        connect(0.5),
        send(0.5, ready('c1')),
        accepted(0.5, ada),
      ],
    },
    {
      name: 'a content type with a parameter',
      options: feed,
      steps: [
        { ...connect(0), type: 'text/event-stream; charset=utf-8' },
        send(0, ready('c0')),
        accepted(0, ada),
      ],
    },
    {
      name: 'the clock of this machine is set back by ten minutes: the whole feed is read again',
      options: { ...feed, whenAway: 'refuse' },
      steps: [
        ...open,
        send(0.5, cursor('c1')),
        state(0.5, { notified: true }),
        state(-600, { notified: false }),
        send(-599.5, cursor('c1')),
        connect(-599),
        send(-599, it, ready('c2')),
        state(-599, { notified: true }),
        refused(-599, ada),
      ],
    },
  ];
}

import {
  accepted,
  claimsChanged,
  claimsVoided,
  connect,
  end,
  introspection,
  ready,
  refused,
  send,
  state,
  time,
} from './steps.mjs';
import { START, token } from './tokens.mjs';

const feed = { serviceKey: true };
const NOW = START / 1000;

export function claims(named) {
  const ada = named('good', token({ roles: ['admin'], claims: { plan: 'pro' } }));
  const grace = named('grace', token({ sub: 'grace', sid: 'session-of-grace' }));
  const issued = (iat) => named(`issued-${iat}`, token({ iat: NOW + iat, roles: ['owner'] }));
  const open = (...past) => [connect(0), send(0, ...past, ready('c0'))];
  const lists = { roles: ['a'], groups: [], entitlements: ['e'] };
  const top = { ...lists, name: 'Ada', email: 'a@b.c', preferred_username: 'ada' };
  const others = { seats: 3, beta: true, none: null, deep: { a: [1] }, claims: 'x' };
  return [
    {
      name: 'changed, and changed back: of several events the last one counts',
      options: feed,
      steps: [
        ...open(),
        accepted(0, ada),
        send(0.5, claimsChanged({ roles: ['reader'] }, { at: 0.4 })),
        accepted(0.5, ada, { roles: ['reader'] }),
        accepted(0.5, grace),
        send(1, claimsChanged({ roles: ['admin'], plan: 'pro' }, { at: 0.9 })),
        accepted(1, ada, { roles: ['admin'], claims: { plan: 'pro' } }),
        send(1.5, claimsChanged({}, { at: 1.4 })),
        accepted(1.5, ada, {}),
        state(1.5, { users: 1, introspections: 0 }),
      ],
    },
    {
      name: 'the last event counts, also if its `changed_at` is earlier',
      options: feed,
      steps: [
        ...open(claimsChanged({ roles: ['a'] }, { at: 5 }), claimsChanged({ roles: ['b'] }, { at: 4 })),
        accepted(0, ada, { roles: ['b'] }),
      ],
    },
    {
      name: 'six claims are at the top level of a token, all others in `claims`; those of a wrong type are left out',
      options: feed,
      steps: [
        ...open(claimsChanged({ ...top, ...others })),
        accepted(0, ada, { ...top, claims: others }),
        send(0.5, claimsChanged({ roles: 'admin', groups: ['g', 1], name: 7, constructor: 'x', sid: 'y' })),
        accepted(0.5, ada, { claims: { constructor: 'x', sid: 'y' } }),
      ],
    },
    {
      name: 'a token issued up to ten seconds after the change may have older claims',
      options: feed,
      steps: [
        ...open(claimsChanged({ roles: ['reader'] }, { at: 0.9 })),
        ...[-1, 0, 1, 10].map((iat) => accepted(0, issued(iat), { roles: ['reader'] })),
        ...[11, 12].map((iat) => accepted(0, issued(iat))),
      ],
    },
    {
      name: 'a change is forgotten some minutes after `until`, not before',
      options: feed,
      steps: [
        ...open(claimsChanged({}, { until: 60 }), claimsChanged({}, { user: 'grace' })),
        state(0, { users: 2 }),
        connect(61, 'c0'),
        send(61, ready('c1')),
        accepted(61, ada, {}),
        connect(700, 'c1'),
        send(700, ready('c2')),
        state(700, { notified: true, users: 1 }),
      ],
    },
    {
      name: 'a change whose `until` has long passed is not kept, and removes an earlier one',
      options: feed,
      steps: [
        ...open(claimsChanged({ roles: ['reader'] }), claimsChanged({}, { until: -3600 })),
        state(0, { users: 0 }),
        accepted(0, ada),
      ],
    },
    {
      name: 'a removed user: changes up to then are forgotten, later ones are kept',
      options: feed,
      steps: [
        ...open(claimsChanged({ roles: ['reader'] }, { at: 0 }), claimsVoided(0)),
        accepted(0, ada),
        send(
          0.5,
          claimsChanged({ roles: ['new'] }, { at: 0.4 }),
          claimsVoided(0.3),
          claimsVoided(9, 'grace'),
        ),
        accepted(0.5, ada, { roles: ['new'] }),
        state(0.5, { users: 1 }),
      ],
    },
    {
      name: 'known changes count before `ready` and after a reconnect',
      options: { ...feed, whenAway: 'accept' },
      steps: [
        connect(0),
        send(0, claimsChanged({ roles: ['reader'] })),
        accepted(0, ada, { roles: ['reader'] }),
        send(0, ready('c0')),
        end(0.5),
        accepted(0.5, ada, { roles: ['reader'] }),
        connect(1, 'c0'),
        send(1, claimsChanged({ roles: ['editor'] }, { at: 0.9 }), ready('c1')),
        accepted(1, ada, { roles: ['editor'] }),
      ],
    },
    {
      name: 'while the feed is away, the claims of introspection count in place of known ones',
      options: feed,
      steps: [
        introspection(0, 200, '{"active":true,"roles":["editor"],"claims":{"plan":"free"},"name":7}'),
        connect(0),
        send(0, claimsChanged({ roles: ['reader'] })),
        accepted(0, ada, { roles: ['editor'], claims: { plan: 'free' } }),
        send(0.5, ready('c0')),
        accepted(0.5, ada, { roles: ['reader'] }),
      ],
    },
    ...Object.entries({
      'no claims': { claims: undefined },
      'claims that are a list': { claims: ['admin'] },
      'no user': { user_id: undefined },
      'no changed_at': { changed_at: undefined },
      'a changed_at that is no time': { changed_at: 'soon' },
      'no until': { until: undefined },
      'an until that is a number': { until: START },
    }).map(([name, change]) => {
      const data = { user_id: 'ada', claims: {}, changed_at: time(0), until: time(3600), ...change };
      return {
        name: `claims_changed with ${name}: the connection counts as broken, since a change may be lost`,
        options: { ...feed, whenAway: 'refuse' },
        steps: [
          ...open(),
          send(0.5, `event: claims_changed\ndata: ${JSON.stringify(data)}\n\n`),
          state(0.5, { notified: false, users: 0 }),
          refused(0.5, ada, 'temporarily_unavailable'),
          connect(1, 'c0'),
          send(1, ready('c1')),
          accepted(1, ada),
        ],
      };
    }),
  ];
}

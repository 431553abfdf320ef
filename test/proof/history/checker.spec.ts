import { check } from './checker.js';
import { LegalHistory } from './legal-history.js';
import type { FaultEntry, HistoryEntry } from './operation.js';
import { quietUser } from './quiet-user.js';
import type { Rule } from './violation.js';

const PATIENCE = { socketsMs: 1000, keysMs: 1000, deliveredMs: 1000 };
const LEGAL = new LegalHistory(1).entries;
/** Unlike an entry's type this lets a plant change what belongs together elsewhere. */
type Change = Record<string, unknown>;
/** By the names of quietUser: what is changed of an entry, or an entry anew; null: it is taken out. */
type Plant = Readonly<Record<string, Change | null>>;

/** A legal history, in the midst of which one user's entries are changed. */
function planted(plant: Plant): HistoryEntry[] {
  const quiet: Record<string, object> = quietUser();
  for (const [name, change] of Object.entries(plant)) {
    if (change === null) delete quiet[name];
    else quiet[name] = { ...quiet[name], ...change };
  }
  return [...LEGAL, ...(Object.values(quiet) as HistoryEntry[])];
}

/** What is found, without what shows it. */
function found(entries: readonly HistoryEntry[]): string[] {
  return check(entries, PATIENCE).violations.map(({ rule, text }) => `${rule}: ${text}`);
}

const q = quietUser() as unknown as Record<string, Change>;
const unknown = { outcome: 'unknown', status: 500, error: 'server_error', retryAfter: true } as const;
const refused = { outcome: 'refused', status: 401, error: 'invalid_token' } as const;
const fault = (name: string, target: string, begun: number, ended: number): FaultEntry => ({
  kind: 'fault',
  fault: name,
  target,
  begun,
  ended,
});

/** Long after all others, where nothing is broken: a socket, and an event that is not kept. */
const calm = {
  calmSocket: {
    ...q['connect'],
    client: 'calm ear',
    socket: 3_000_001,
    token: q['look']!['issued'],
    begun: 200_000,
    ended: 200_010,
    from: 6,
    offset: 6,
  },
  calmPush: {
    ...q['push4'],
    n: 'n 8',
    id: 'id 8',
    ttl: 0,
    offset: null,
    begun: 200_100,
    ended: 200_110,
  },
  calmReceive: {
    ...q['receive4'],
    client: 'calm ear',
    socket: 3_000_001,
    n: 'n 8',
    id: 'id 8',
    offset: null,
    begun: 201_100,
    ended: 201_100,
  },
  calmEnd: {
    ...q['closed'],
    client: 'calm ear',
    socket: 3_000_001,
    token: q['look']!['issued'],
    begun: 210_000,
    ended: 210_000,
  },
};

const keptToken = (jti: string): object => ({ ...(q['signIn']!['issued'] as object), jti });
const phoneToken = (session: string, n: number): object => ({
  session,
  jti: `${session} ${n}`,
  kid: 'next key',
  user: 'other',
  device: 'phone',
  expiresIn: 3600,
});
/** Another user, who signs in on a phone, out, and in again. */
const onPhone = (session: string, begun: number): Change => ({
  ...q['signIn'],
  state: `state of ${session}`,
  code: `other.${session}`,
  device: 'phone',
  user: 'other',
  issued: phoneToken(session, 1),
  begun,
  ended: begun + 10,
});
const ofPhone = (event: string, offset: number, at: number, name: string | null = null): Change => ({
  ...q['stored1'],
  user: 'other',
  event,
  id: `${event} ${offset}`,
  offset,
  at,
  of: { device: 'phone', name },
});
const phone = {
  in1: onPhone('phone 1', 30_000),
  out: { ...q['signOut'], user: 'other', session: 'phone 1', begun: 31_000, ended: 31_010 },
  in2: onPhone('phone 2', 35_000),
  look1: { ...q['lookLeft'], session: 'phone 1' },
  look2: { ...q['look'], session: 'phone 2', issued: phoneToken('phone 2', 2) },
  told1: ofPhone('device.signed_in', 1, 30_005),
  told2: ofPhone('device.signed_out', 2, 31_005),
  told3: ofPhone('device.signed_in', 3, 35_005),
};

const withoutAnswer = { ...unknown, issued: undefined, user: undefined };
/** The same; its first try had no answer. */
const firstUnanswered = {
  ...phone,
  lost: { ...onPhone('phone 1', 29_000), ...withoutAnswer },
};
/** The same; a sign-in without an answer was half a minute earlier, and all sessions were signed out. */
const longBefore = {
  ...phone,
  lost: { ...onPhone('phone 0', -5000), ...withoutAnswer },
  out: { ...phone.out, by: 'service', scope: 'all', session: null },
};
/** The same as `phone`; before it signs out, the phone is given a name. */
const namedPhone = {
  ...phone,
  rename: {
    ...q['rename'],
    user: 'other',
    device: 'phone',
    name: 'phone name',
    token: phone.in1['issued'],
    begun: 30_500,
    ended: 30_510,
  },
  told2: { ...ofPhone('device.renamed', 2, 30_505, 'phone name'), name: 'phone name' },
  told3: ofPhone('device.signed_out', 3, 31_005, 'phone name'),
  told4: ofPhone('device.signed_in', 4, 35_005, 'phone name'),
};
const removal = {
  by: 'removal',
  scope: 'device',
  session: null,
  device: 'phone',
  token: phone.in1['issued'],
};
const toPhone = (begun: number): Change => ({
  ...q['push4'],
  user: 'other',
  device: 'phone',
  n: 'n 7',
  id: undefined,
  offset: undefined,
  outcome: 'refused',
  status: 404,
  error: 'not_found',
  begun,
  ended: begun + 10,
});

/** Under which rule it is found, with which words, and what is planted. */
const FAULTS: readonly (readonly [Rule, string, Plant])[] = [
  [
    'succeeded twice',
    'two sign-ins with state',
    { again: { ...q['signIn'], issued: keptToken('kept 9'), code: 'quiet.3', client: 'thief' } },
  ],
  [
    'succeeded twice',
    'two sign-ins with code',
    { again: { ...q['signIn'], issued: keptToken('kept 9'), state: 'state 3', client: 'thief' } },
  ],
  ['succeeded twice', 'the provider was asked twice', { again: { ...q['exchange'] } }],

  [
    'acknowledged and gone',
    'state state 3 was refused to the first',
    {
      lost: {
        ...q['signIn'],
        ...refused,
        error: 'invalid_grant',
        state: 'state 3',
        code: 'quiet.3',
        user: undefined,
        issued: undefined,
      },
    },
  ],
  [
    'acknowledged and gone',
    'session kept is gone',
    { look: { outcome: 'refused', status: 401, error: 'invalid_grant', issued: undefined } },
  ],
  ['acknowledged and gone', 'session kept is gone', { look: null }],
  [
    'acknowledged and gone',
    'push n 7 is not in the history',
    { lost: { ...q['push4'], n: 'n 7', id: 'id 7', offset: 7, device: 'phone', begun: 7000, ended: 7010 } },
  ],
  ['acknowledged and gone', 'push n 5 is not in the history', { stored5: { id: 'another id' } }],
  ['acknowledged and gone', 'push n 5 is not in the history', { stored5: { n: 'another' } }],
  ['acknowledged and gone', 'the device was renamed new name', { stored6: { name: 'old name' } }],

  [
    'accepted after its end',
    'use of session left',
    { late: { ...q['use'], token: q['signInLeft']!['issued'], begun: 6011, ended: 6020 } },
  ],
  [
    'accepted after its end',
    'refresh of session left',
    {
      late: {
        ...q['refresh'],
        session: 'left',
        issued: { ...(q['signInLeft']!['issued'] as object), jti: 'left 2' },
        begun: 6011,
        ended: 6020,
      },
    },
  ],
  [
    'accepted after its end',
    'connect of session left',
    {
      late: {
        ...q['connect'],
        client: 'ghost',
        socket: 9,
        token: q['signInLeft']!['issued'],
        begun: 6011,
        ended: 6020,
        offset: 6,
        device: null,
        holder: { user: 'quiet', device: null, session: 'left' },
      },
      gone: {
        ...q['closed'],
        client: 'ghost',
        socket: 9,
        token: q['signInLeft']!['issued'],
        begun: 6500,
        ended: 6500,
      },
    },
  ],
  [
    'accepted after its end',
    'use with key quiet key',
    { late: { ...q['use'], begun: 21_011, ended: 21_020 } },
  ],
  ['accepted after its end', 'socket 1000002 was open', { told: { begun: 21_100, ended: 21_100 } }],
  [
    'accepted after its end',
    'which had been refused before',
    {
      signOut: unknown,
      refusal: {
        ...q['refresh'],
        outcome: 'refused',
        status: 401,
        error: 'invalid_grant',
        issued: undefined,
        session: 'left',
        begun: 5200,
        ended: 5210,
      },
      late: { ...q['use'], token: q['signInLeft']!['issued'], begun: 7000, ended: 7010 },
    },
  ],

  ['delivered wrongly', 'received twice', { again: { ...q['receive4'] } }],
  [
    'delivered wrongly',
    'received out of order',
    { receive2: { offset: 3, id: 'id 3', n: 'n 3' }, receive3: { offset: 2, id: 'id 2', n: 'n 2' } },
  ],
  ['delivered wrongly', 'received by a stranger', { push4: { user: 'somebody', ttl: 0, offset: null } }],
  [
    'delivered wrongly',
    'received by another device',
    { push4: { device: 'phone' }, stored4: { device: 'phone' } },
  ],
  ['delivered wrongly', 'received, and nobody has pushed it', { receive4: { n: 'n 9' } }],
  ['delivered wrongly', 'received, and not in the history', { receive4: { id: 'another id' } }],
  ['delivered wrongly', 'never received', { receive4: null }],
  ['delivered wrongly', 'never received', { receive6: null }],
  ['delivered wrongly', 'could not go on', { back: { recovered: false } }],
  ['delivered wrongly', 'could not go on', { back: { offset: 2 } }],
  ['delivered wrongly', 'offset 6 follows 4', { pushElsewhere: null, stored5: null }],
  ['delivered wrongly', 'offset 5 follows 5', { stored6: { offset: 5 }, receive6: null }],
  [
    'delivered wrongly',
    'n 5 is in the history twice',
    { stored7: { ...q['stored5'], id: 'id 7', offset: 7 } },
  ],
  [
    'delivered wrongly',
    'new name is in the history twice',
    { stored7: { ...q['stored6'], device: 'phone', id: 'id 7', offset: 7 } },
  ],
  [
    'delivered wrongly',
    'offset 5 after 6 was known',
    {
      late: { ...q['push2'], begun: 1200, ended: 1210, n: 'n 7', id: 'id 6', offset: 6 },
      stored6: { n: 'n 7' },
    },
  ],

  ...(
    [
      ['a refresh of session kept got another token', { refresh: { issued: phoneToken('kept', 2) } }],
      [
        'a refresh of session kept got another token',
        { refresh: { issued: { ...(q['refresh']!['issued'] as object), session: 'phone 1' } } },
      ],
      [
        'a refresh of session kept got another token',
        { refresh: { issued: { ...(q['refresh']!['issued'] as object), device: 'phone' } } },
      ],
      ['token kept 1 was issued twice', { refresh: { issued: keptToken('kept 1') } }],
      ['GET /me of session kept is about another user', { use: { user: 'other' } }],
      [
        'ready of session kept is about another',
        { connect: { holder: { user: 'quiet', device: 'laptop', session: 'left' } } },
      ],
      [
        'ready of session kept is about another',
        { back: { holder: { user: 'other', device: 'laptop', session: 'kept' } } },
      ],
      [
        'a sign-in of quiet got another token',
        { signInLeft: { issued: { ...(q['signInLeft']!['issued'] as object), user: 'other' } } },
      ],
      [
        'a sign-in of quiet got another token',
        { signIn: { issued: { ...(q['signIn']!['issued'] as object), device: 'phone' } } },
      ],
    ] as const
  ).map(([text, plant]) => ['answered for another', text, plant] as const),
  [
    'answered for another',
    'quiet is two users',
    { ...phone, in1: { ...phone.in1, code: 'quiet.3' }, in2: { ...phone.in2, code: 'other.4' } },
  ],
  [
    'answered for another',
    'user other has two accounts',
    { ...phone, in2: { ...phone.in2, code: 'third.4' } },
  ],

  [
    'ended for no reason',
    'a handshake was told signed_out of session kept',
    {
      early: {
        ...q['connect'],
        ...unknown,
        status: undefined,
        error: 'signed_out',
        client: 'new ear',
        socket: 9,
        offset: undefined,
        holder: undefined,
      },
    },
  ],
  [
    'ended for no reason',
    'a refresh was refused of session kept',
    {
      refresh: {
        outcome: 'refused',
        status: 401,
        error: 'invalid_grant',
        issued: undefined,
        begun: 61_010,
        ended: 61_020,
      },
    },
  ],
  ['ended for no reason', 'an access token was refused of session kept', { use: refused }],
  [
    'ended for no reason',
    'an access token was refused of session kept',
    { refusal: { ...q['rename'], ...refused, name: 'other', begun: 7000, ended: 7010 } },
  ],
  ['ended for no reason', 'a socket was told signed_out of session kept', { closed: { told: 'signed_out' } }],
  ['ended for no reason', 'a socket was told expired of session kept', { closed: { told: 'expired' } }],
  ['ended for no reason', 'a socket was told revoked of session kept', { closed: { told: 'revoked' } }],
  [
    'ended for no reason',
    'an access token was refused of session left',
    { signOut: { ...unknown, begun: 5111, ended: 5120 } },
  ],

  [
    'unknown answer',
    'use was answered 403',
    { use: { ...refused, status: 403, error: 'insufficient_scope' } },
  ],
  [
    'unknown answer',
    'push was answered 404',
    {
      push: {
        ...q['push4'],
        outcome: 'refused',
        status: 404,
        error: 'not_found',
        id: undefined,
        offset: undefined,
        n: 'n 7',
      },
    },
  ],
  [
    'unknown answer',
    'push was answered 404',
    {
      push: {
        ...q['push3'],
        outcome: 'refused',
        status: 404,
        error: 'not_found',
        id: undefined,
        offset: undefined,
        n: 'n 7',
      },
    },
  ],
  [
    'unknown answer',
    'refresh was answered 500',
    { refresh: { ...unknown, retryAfter: undefined, issued: undefined } },
  ],
  [
    'unknown answer',
    'refresh was answered undefined ECONNRESET',
    { refresh: { ...unknown, status: undefined, error: 'ECONNRESET', issued: undefined } },
  ],
  [
    'unknown answer',
    'connect was answered undefined invalid_request',
    {
      lost: {
        ...q['connect'],
        ...unknown,
        status: undefined,
        error: 'invalid_request',
        socket: 3e6,
        begun: 40_000,
        ended: 40_010,
      },
    },
  ],
  [
    'unknown answer',
    'refresh were answered server_error where nothing was broken',
    Object.fromEntries(
      Array.from({ length: 400 }, (_, i) => [
        `busy ${i}`,
        { ...q['refresh'], ...unknown, issued: undefined, begun: 200_000 + i, ended: 200_010 + i },
      ]),
    ),
  ],
  ['delivered wrongly', 'received, and not in the history', { receive2: { n: 'n 3' } }],
  ['delivered wrongly', 'received, and not in the history', { receive4: { event: 'another.push' } }],
  [
    'unknown answer',
    'push was answered 404',
    { ...phone, out: { ...phone.out, ...removal }, push: toPhone(36_000) },
  ],
  [
    'acknowledged and gone',
    'the name phone name is gone from the device',
    { ...namedPhone, told4: ofPhone('device.signed_in', 4, 35_005) },
  ],
  [
    'delivered wrongly',
    'all sessions had ended, and no device.signed_out says so',
    { ...phone, told2: null, told3: ofPhone('device.signed_in', 2, 35_005) },
  ],
  [
    'delivered wrongly',
    'all sessions had ended, and no device.signed_out says so',
    { ...firstUnanswered, told2: null, told3: ofPhone('device.signed_in', 2, 35_005) },
  ],
  [
    'delivered wrongly',
    'all sessions had ended, and no device.signed_out says so',
    { ...longBefore, told2: null, told3: ofPhone('device.signed_in', 2, 35_005) },
  ],
  [
    'delivered wrongly',
    'device.signed_out, while a session lived',
    {
      ...phone,
      told4: ofPhone('device.signed_out', 4, 45_000),
      in3: onPhone('phone 3', 50_000),
      look3: { ...q['look'], session: 'phone 3', issued: phoneToken('phone 3', 2) },
      told5: ofPhone('device.signed_in', 5, 50_005),
    },
  ],
  ['delivered wrongly', '1 device.signed_in for 2 sign-ins', { ...phone, told3: null }],
  [
    'delivered wrongly',
    '3 device.signed_in for 2 sign-ins',
    { ...phone, told4: ofPhone('device.signed_in', 4, 36_000) },
  ],
  [
    'delivered wrongly',
    'device.signed_out, and a session lives',
    { ...phone, told4: ofPhone('device.signed_out', 4, 36_000) },
  ],
  [
    'delivered wrongly',
    'received with what another one carries',
    { ...calm, calmReceive: { ...calm.calmReceive, id: 'another id' } },
  ],
  [
    'delivered wrongly',
    'came to an open socket 1001 ms late',
    { ...calm, calmReceive: { ...calm.calmReceive, begun: 201_111, ended: 201_111 } },
  ],
  ['delivered wrongly', 'came to an open socket not at all', { ...calm, calmReceive: null }],
  [
    'delivered wrongly',
    'came to an open socket 4890 ms late',
    {
      ...calm,
      fault: { ...fault('redis-cut', 'instance 2', 199_000, 199_500) },
      calmReceive: { ...calm.calmReceive, begun: 205_000, ended: 205_000 },
    },
  ],
  [
    'acknowledged and gone',
    'the name new name is gone from the device',
    {
      stored6: { of: { device: 'laptop', name: 'new name' } },
      stored7: {
        ...q['stored1'],
        device: 'phone',
        id: 'id 7',
        offset: 7,
        of: { device: 'laptop', name: 'old name' },
      },
      again: { ...onPhone('laptop 2', 30_000), ...unknown, device: 'laptop', issued: undefined },
    },
  ],
  [
    'unknown answer',
    'refresh was answered 502',
    { refresh: { ...unknown, status: 502, retryAfter: true, issued: undefined } },
  ],
];

/** What looks like a fault, and is none. */
const LEGAL_CHANGES: readonly (readonly [string, Plant])[] = [
  ['nothing', {}],
  [
    'a state is refused to a second',
    { rival: { ...q['signIn'], ...refused, error: 'invalid_grant', user: undefined, issued: undefined } },
  ],
  [
    'an unanswered sign-in has spent the state',
    {
      lost: {
        ...q['signIn'],
        ...unknown,
        state: 'state 3',
        code: 'quiet.3',
        user: undefined,
        issued: undefined,
      },
      again: {
        ...q['signIn'],
        ...refused,
        error: 'invalid_grant',
        state: 'state 3',
        code: 'quiet.3',
        user: undefined,
        issued: undefined,
        begun: 120,
        ended: 130,
      },
    },
  ],
  ['an event comes within the time it may take', calm],
  [
    'an event for another device does not come',
    {
      ...calm,
      calmPush: { ...calm.calmPush, device: 'phone' },
      calmReceive: null,
    },
  ],
  ...(['calmPush', 'calmSocket'] as const).map((name): readonly [string, Plant] => [
    `an event comes late after a fault of the instance of ${name}`,
    {
      ...calm,
      [name]: { ...calm[name], instance: 1 },
      fault: { ...fault('redis-cut', 'instance 2', 199_000, 199_500) },
      calmReceive: { ...calm.calmReceive, begun: 205_000, ended: 205_000 },
    },
  ]),
  ['a device is signed out, and in again', phone],
  [
    'another session of the device lives on',
    {
      ...phone,
      in0: onPhone('phone 0', 29_000),
      look0: { ...q['look'], session: 'phone 0', issued: phoneToken('phone 0', 2) },
      told2: ofPhone('device.signed_in', 2, 29_005),
    },
  ],
  ['a sign-in is answered at the second try', firstUnanswered],
  ['a sign-in without an answer is long over', longBefore],
  ['a device keeps its name', namedPhone],
  [
    'a device that was removed has no name any more, and nobody knew it meanwhile',
    {
      ...namedPhone,
      out: { ...phone.out, ...removal },
      push: toPhone(31_500),
      told4: ofPhone('device.signed_in', 4, 35_005),
    },
  ],
  [
    'an unanswered sign-in has begun a session',
    {
      ...phone,
      told2: null,
      told3: ofPhone('device.signed_in', 2, 29_005),
      told4: ofPhone('device.signed_in', 3, 35_005),
      lost: {
        ...onPhone('phone 3', 29_000),
        ...withoutAnswer,
      },
    },
  ],
  [
    'an event comes late after a fault',
    {
      ...calm,
      fault: { ...fault('redis-cut-from-all', 'Redis', 199_000, 199_500) },
      calmReceive: { ...calm.calmReceive, begun: 205_000, ended: 205_000 },
    },
  ],
  [
    'a call is not answered in a fault',
    {
      fault: { ...fault('clients-cut', 'instance 1', 350, 420) },
      refresh: { ...unknown, status: undefined, error: 'ECONNRESET', issued: undefined },
    },
  ],
  [
    'few calls are told to come later',
    { busy: { ...q['refresh'], ...unknown, issued: undefined, begun: 200_000, ended: 200_010 } },
  ],
  ['an unanswered sign-out ends the session at once', { signOut: unknown }],
  [
    'an unanswered sign-out ends the session seconds later',
    {
      signOut: { ...unknown, begun: 4000, ended: 4010 },
      alive: { ...q['use'], token: q['signInLeft']!['issued'], begun: 5050, ended: 5060 },
    },
  ],
  [
    'an unanswered sign-out of a device ends it',
    {
      signOut: { ...unknown, scope: 'all' },
      look: { outcome: 'refused', status: 401, error: 'invalid_grant', issued: undefined },
    },
  ],
  [
    'a call that began before the second was over',
    { late: { ...q['use'], token: q['signInLeft']!['issued'], begun: 6009, ended: 9000 } },
  ],
  [
    'the database of that instance was away meanwhile',
    {
      fault: { ...fault('database-cut', 'instance 1', 5900, 8000) },
      late: { ...q['use'], token: q['signInLeft']!['issued'], begun: 8990, ended: 9000 },
    },
  ],
  [
    'a push is received that was never acknowledged',
    { push4: { ...unknown, id: undefined, offset: undefined } },
  ],
  ['an unkept push is lost', { lost: { ...q['push4'], ttl: 0, offset: null, id: 'id 7', n: 'n 7' } }],
  [
    'a removed device is unknown',
    {
      removal: {
        ...q['signOut'],
        ...unknown,
        by: 'removal',
        scope: 'device',
        session: null,
        device: 'phone',
        token: q['signIn']!['issued'],
      },
      push: {
        ...q['push4'],
        outcome: 'refused',
        status: 404,
        error: 'not_found',
        id: undefined,
        offset: undefined,
        n: 'n 7',
        device: 'phone',
        begun: 5500,
        ended: 5510,
      },
    },
  ],
  [
    'the database is away',
    { refresh: { ...unknown, status: 500, error: 'server_error', retryAfter: true, issued: undefined } },
  ],
];

/** What excuses nothing. */
const NO_EXCUSES: readonly (readonly [string, FaultEntry])[] = [
  ['another instance', fault('database-cut', 'instance 2', 5900, 8000)],
  ['Redis', fault('redis-cut', 'instance 1', 5900, 8000)],
  ['a fault that began after the second was over', fault('database-cut', 'instance 1', 6500, 8000)],
  ['a fault that has ended a second before', fault('database-cut', 'instance 1', 5900, 7500)],
];

describe('the checker of histories', () => {
  it.each(Array.from({ length: 25 }, (_, i) => i + 1))(
    'finds nothing in a legal history (seed %i)',
    (seed) => {
      expect(found(new LegalHistory(seed).entries)).toEqual([]);
    },
  );

  it.each(LEGAL_CHANGES)('finds nothing where %s', (_, plant) => {
    expect(found(planted(plant))).toEqual([]);
  });

  it.each(FAULTS)('finds %s: %s', (rule, text, plant) => {
    const violations = found(planted(plant));
    expect(violations).toContainEqual(expect.stringContaining(text));
    for (const violation of violations) expect(violation).toMatch(`${rule}: `);
  });

  it.each(NO_EXCUSES)('does not excuse by %s', (_, { ...entry }) => {
    const late = { ...q['use'], token: q['signInLeft']!['issued'], begun: 8990, ended: 9000 };
    expect(found(planted({ fault: entry, late }))).toEqual([expect.stringContaining('use of session left')]);
  });
});

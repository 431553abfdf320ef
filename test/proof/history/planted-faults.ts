import type { FaultName } from '../world/nemesis.js';
import type { Rule } from './violation.js';

/** A fault that is planted in the compiled service: a text of one of its files, and what stands there instead. */
export interface PlantedFault {
  readonly name: string;
  /** In `dist/src`. */
  readonly file: string;
  /** It has to be there once. */
  readonly from: string;
  readonly to: string;
  /** Under which rule the checker has to find it. */
  readonly found: Rule;
  /** Instances tell each other of events over Redis, in place of the database. */
  readonly redis?: true;
  /** The other instances are as they were. */
  readonly onOneInstance?: true;
  /** How often a signing key has to be withdrawn meanwhile, for it to show. */
  readonly revocations?: number;
  /** What a nemesis has to do meanwhile. */
  readonly faults?: readonly FaultName[];
}

/** Every so many times, where it is not done each time. */
const seldom = (times: number): string => `Math.random() < 1 / ${times}`;

/** The same for all that have them: where nothing is planted they are done once. */
const AMID: readonly FaultName[] = [
  'service-killed',
  'database-cut',
  'failover',
  'service-frozen',
  'postgres-killed',
  'database-dropped-one-way',
  'clients-cut',
  'postgres-frozen',
];

const ALONE: readonly PlantedFault[] = [
  {
    name: 'a state is not spent',
    file: 'auth/state.service.js',
    from: 'DELETE FROM authorization_states s USING locked WHERE s.state_hash = locked.state_hash',
    to: 'UPDATE authorization_states s SET provider = s.provider FROM locked WHERE s.state_hash = locked.state_hash',
    found: 'succeeded twice',
  },
  {
    name: 'a code is sent to the provider twice',
    file: 'auth/auth.service.js',
    from: 'const identity = await this.askProvider(signIn, params);',
    to: `const identity = await this.askProvider(signIn, params);
         await this.askProvider(signIn, params).catch(() => undefined);`,
    found: 'succeeded twice',
  },
  {
    name: 'one sign-in in fifty is answered and not committed',
    file: 'auth/sign-in.store.js',
    from: 'const { session, provider } = signIn;',
    to: `if (${seldom(50)}) return; const { session, provider } = signIn;`,
    found: 'acknowledged and gone',
  },
  {
    name: 'a session that was signed out refreshes',
    file: 'token/session.store.js',
    from: 'signed_out_at = now(), expires_at = least(expires_at, now())',
    to: 'signed_out_at = now()',
    found: 'accepted after its end',
  },
  {
    name: 'one sign-out in fifty is answered and not done',
    file: 'device/sign-out.service.js',
    from: 'async signOut(scope, of, { by, last } = {}) {',
    to: `async signOut(scope, of, { by, last } = {}) { if (!last && ${seldom(50)}) return;`,
    found: 'accepted after its end',
  },
  {
    name: 'one instance is not told of sign-outs: its sockets stay open',
    file: 'token/ended-sessions.js',
    from: 'if (this.told.add(ended.sessionId))',
    to: 'if (false)',
    found: 'accepted after its end',
    onOneInstance: true,
  },
  {
    name: 'the access token of a session that was signed out is accepted',
    file: 'token/access-token.verifier.js',
    from: 'AND a.token = $4 AND r.signed_out_at IS NULL',
    to: 'AND a.token = $4',
    found: 'accepted after its end',
  },
  {
    name: 'one instance accepts the token of a withdrawn key',
    file: 'token/key-ring.js',
    from: 'return key && now < key.endsAt ? key.publicKey : undefined;',
    to: 'return key?.publicKey;',
    found: 'accepted after its end',
    onOneInstance: true,
    revocations: 3,
  },
  {
    name: 'the sockets of a withdrawn key stay open',
    file: 'realtime/connection-registry.js',
    from: 'if (connection.kid === kid)',
    to: 'if (false)',
    found: 'accepted after its end',
    revocations: 3,
  },
  {
    name: 'one push in fifty is acknowledged and not stored',
    file: 'realtime/push.store.js',
    from: 'const [row] = await this.sql.query(PUSH, this.values(event));',
    to: `let undone;
         if (${seldom(50)}) await this.dataSource.transaction(async (manager) => {
           undone = await this.pushIn(manager, event);
           throw new Error('undone');
         }).catch(() => undefined);
         if (undone) return undone;
         const [row] = await this.sql.query(PUSH, this.values(event));`,
    found: 'acknowledged and gone',
  },
  {
    name: 'a push that is sent again with its Idempotency-Key is stored again',
    file: 'channel/idempotency.store.js',
    // No key is known again, and one answer in twenty is an error after the commit: its client sends the push again.
    from: 'once({ keyHash, bodyHash, ttl }, work) {',
    to: `async once(request, work) {
           const found = await this.anew({ ...request, keyHash: crypto.getRandomValues(Buffer.alloc(32)) }, work);
           if (${seldom(20)}) throw Object.assign(new Error('planted'), { code: '57014' });
           return found;
         }
         anew({ keyHash, bodyHash, ttl }, work) {`,
    found: 'delivered wrongly',
  },
  {
    name: 'one offset in fifty is left out',
    file: 'channel/append.sql.js',
    from: 'SET last_offset = channels.last_offset + 1',
    to: 'SET last_offset = channels.last_offset + 1 + (random() < 0.02)::int',
    found: 'delivered wrongly',
  },
  {
    name: 'an event for one device is given to all of the user',
    file: 'realtime/connection.js',
    from: 'deviceId !== null && deviceId !== this.session.deviceId',
    to: 'false',
    found: 'delivered wrongly',
  },
  {
    name: 'an event that is not kept is given to everybody on other instances',
    file: 'realtime/channel-hub.js',
    from: 'onEvent: (event) => this.channels.get(event.userId)?.receive(event),',
    to: `onEvent: (event) => {
           if (event.offset !== null) this.channels.get(event.userId)?.receive(event);
           else for (const channel of this.channels.values()) channel.receive(event);
         },`,
    found: 'delivered wrongly',
  },
  {
    name: 'one page of a history in fifty is another user’s',
    file: 'realtime/history-reads.js',
    from: 'await this.history.read(userId, after, limit)',
    to: `await this.history.read(${seldom(50)} ? (this.other ?? userId) : (this.other = userId), after, limit)`,
    found: 'delivered wrongly',
  },
  {
    name: 'one event in fifty comes with the data of the one before',
    file: 'realtime/connection.js',
    from: 'return encode(socket, event, data, { id, offset, sent_at });',
    to: `const given = ${seldom(50)} ? (encodeEvent.last ?? data) : data;
         encodeEvent.last = data;
         return encode(socket, event, given, { id, offset, sent_at });`,
    found: 'delivered wrongly',
  },
  {
    name: 'the first two events that a client has missed change places',
    file: 'realtime/user-channel.js',
    from: 'for (const event of events ?? []) {',
    to: 'if (events?.length > 2) events.splice(0, 2, events[1], events[0]); for (const event of events ?? []) {',
    found: 'delivered wrongly',
  },
  {
    name: 'one socket in fifty that has missed something gets no more events until its client comes back',
    file: 'realtime/user-channel.js',
    from: 'connection.reading = true;',
    to: `connection.reading = true; if (${seldom(50)}) return;`,
    found: 'delivered wrongly',
  },
  {
    name: 'one time in twenty an instance does not listen to what Redis has of a user',
    file: 'realtime/fanout/redis.transport.js',
    from: 'this.users.add(userId);',
    to: `if (${seldom(20)}) return; this.users.add(userId);`,
    found: 'delivered wrongly',
    redis: true,
  },
  {
    name: 'a client that comes back gets all but the first of the events that it has missed',
    file: 'realtime/user-channel.js',
    from: 'offset: connection.position,',
    to: 'offset: goesOn && from.offset < last ? connection.position++ : connection.position,',
    found: 'delivered wrongly',
  },
  {
    name: 'one rename in ten is acknowledged and not done',
    file: 'device/device.service.js',
    from: 'await manager.update(Device, { userId, deviceId }, { deviceName });',
    to: `if (!(${seldom(10)})) await manager.update(Device, { userId, deviceId }, { deviceName });`,
    found: 'acknowledged and gone',
  },
  {
    name: 'device.signed_out is never written',
    file: 'device/sign-out.service.js',
    from: `await append(userId, 'device.signed_out', signedOut.map(({ facts }) => facts));`,
    to: 'void signedOut;',
    found: 'delivered wrongly',
  },
  {
    name: 'one device.signed_in in fifty is written twice',
    file: 'auth/sign-in-together.js',
    from: 'const rows = await sql.query(RECORD, [...columns, history, patience]);',
    to: `const rows = await sql.query(RECORD, [...columns, history, patience]);
         for (const { userId, data } of rows) if (${seldom(50)}) await sql.query({ name: 'twice', text: \`
           WITH c AS (UPDATE channels SET last_offset = last_offset + 1 WHERE user_id = $1 RETURNING last_offset)
           INSERT INTO channel_events (user_id, event_offset, id, event, data, sent_at, expires_at)
           SELECT $1, last_offset, gen_random_uuid(), 'device.signed_in', $2, now(), now() + interval '1 day' FROM c\` },
           [userId, data]);`,
    found: 'delivered wrongly',
  },
  {
    name: 'refreshes that share a statement all get the token of the first',
    file: 'token/access-token.store.js',
    from: 'sent.get(accessToken.jti) === row && jtis.has(accessToken.jti) ? accessToken : undefined',
    to: 'sent.get(accessToken.jti) === row && jtis.has(accessToken.jti) ? rows[0].accessToken : undefined',
    found: 'answered for another',
  },
  {
    name: 'profiles that share a statement come in the order in which the database gives them',
    file: 'user/profile.store.js',
    from: 'userIds.map((userId) => byUser.get(userId))',
    to: 'userIds.map((_, i) => profiles[i] ?? profiles[0])',
    found: 'answered for another',
  },
  {
    name: 'one sign-in in fifty is that of the user before',
    file: 'auth/auth.service.js',
    from: 'const identity = await this.askProvider(signIn, params);',
    to: `const given = await this.askProvider(signIn, params);
         const identity = (this.before = ${seldom(50)} ? (this.before ?? given) : given);`,
    found: 'answered for another',
  },
  {
    name: 'of access tokens that are judged together, all are good if one is',
    file: 'token/access-token.verifier.js',
    from: 'live.has(i + 1)',
    to: 'live.size > 0',
    found: 'accepted after its end',
  },
  {
    name: 'one refresh in a hundred is refused',
    file: 'token/token.service.js',
    from: 'if (!accessToken)',
    to: `if (!accessToken || ${seldom(100)})`,
    found: 'ended for no reason',
  },
  {
    name: 'one refresh in a hundred is a server error without Retry-After',
    file: 'token/token.service.js',
    from: 'const held = parseRefreshToken(refreshToken);',
    to: `if (${seldom(100)}) throw new Error('planted'); const held = parseRefreshToken(refreshToken);`,
    found: 'unknown answer',
  },
  {
    name: 'one rename in ten finds no device',
    file: 'device/device.service.js',
    from: 'if (!renamed)',
    to: `if (!renamed || ${seldom(10)})`,
    found: 'unknown answer',
  },
];

/** These the checker has to find among real faults, too, for which it excuses much. */
const AMONG_FAULTS = new Set([
  'one sign-in in fifty is answered and not committed',
  'one sign-out in fifty is answered and not done',
  'one push in fifty is acknowledged and not stored',
  'one page of a history in fifty is another user’s',
  'one sign-in in fifty is that of the user before',
  'one refresh in a hundred is refused',
]);

export const PLANTED_FAULTS: readonly PlantedFault[] = [
  ...ALONE,
  ...ALONE.filter(({ name }) => AMONG_FAULTS.has(name)).map((fault) => ({
    ...fault,
    name: `${fault.name}; amid real faults`,
    faults: AMID,
  })),
];

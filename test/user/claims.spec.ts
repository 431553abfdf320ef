import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { Client } from 'pg';
import request from 'supertest';
import { Sql } from '../../src/platform/database/sql.js';
import { AccessTokens } from '../../src/token/access-tokens/access-token.js';
import { EventStreamReader } from '../support/event-stream.js';
import { query } from '../support/database.js';
import { SERVICE_KEY as KEY } from '../support/service.js';
import { bearer, claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { until, waiting } from '../support/waiting.js';
import { useInstances } from '../support/use.js';

const POOL_SIZE = 8;
type Claims = Record<string, unknown>;
/** Statements of the session revocation feed: what has changed, and the claims. */
const FEED = ['claims-changes', 'changed-claims'];

/** Claims of users (docs/guides/roles.md#a-change-is-live): two instances that share a database. */
describe('claims', () => {
  let user: string;

  const { provider, here, there } = useInstances({
    SERVICE_KEYS: KEY,
    DATABASE_POOL_SIZE: String(POOL_SIZE),
  });
  const instances = [here, there];
  beforeEach(() => {
    user = randomUUID();
  });
  afterEach(() => jest.restoreAllMocks());

  const at = (i: number): string => instances[i % 2]!.url;
  const backend = (i = 0) => bearer(at(i), KEY);
  const pathOf = ({ user_id }: Tokens): string => `/users/${user_id}/claims`;
  const put = (tokens: Tokens, claims: unknown, i = 0) =>
    request(at(i)).put(pathOf(tokens)).set('Authorization', `Bearer ${KEY}`).send({ claims });
  const signInWith = (claims: Claims | undefined, i = 0) => {
    provider.claims.set(user, claims);
    return signIn(at(i), user, { device_id: randomUUID() });
  };
  async function refreshed(tokens: Tokens, i = 0): Promise<Claims> {
    const { body } = await request(at(i)).post('/oauth2/refresh').send(tokens).expect(200);
    return carriedBy((body as Tokens).access_token);
  }
  /** The user's claims in a token, without the token's own. */
  function carriedBy(token: string): Claims {
    const own = ['iss', 'aud', 'sub', 'sid', 'device_id', 'client_id', 'jti', 'iat', 'exp'];
    return Object.fromEntries(Object.entries(claimsOf(token)).filter(([name]) => !own.includes(name)));
  }
  const eventsOf = async ({ user_id }: Tokens): Promise<unknown[]> => {
    const rows = await query<{ data: string }>(
      instances[0]!.databaseUrl,
      `SELECT data FROM channel_events WHERE user_id = $1 AND event = 'claims.changed' ORDER BY event_offset`,
      [user_id],
    );
    return rows.map(({ data }) => (JSON.parse(data) as { claims: unknown }).claims);
  };

  it('of both sources are merged, carried by tokens of all instances, and shown', async () => {
    const tokens = await signInWith({ roles: ['reader'], plan: 'free', email: 'ada@corp.example' });
    expect(carriedBy(tokens.access_token)).toEqual({
      roles: ['reader'],
      email: 'ada@corp.example',
      claims: { plan: 'free' },
    });
    expect(await eventsOf(tokens)).toEqual([]); // no token was issued before
    const { body } = await put(tokens, { roles: ['editor', 'reader'], plan: { seats: 2 } }).expect(200);
    const effective = { roles: ['reader', 'editor'], plan: { seats: 2 }, email: 'ada@corp.example' };
    expect(body).toEqual({
      claims: { roles: ['editor', 'reader'], plan: { seats: 2 } },
      provider_claims: { roles: ['reader'], plan: 'free', email: 'ada@corp.example' },
      effective,
    });
    expect((await backend(1).get(pathOf(tokens)).expect(200)).body).toEqual(body);
    const { plan, ...top } = effective;
    const carried = { ...top, claims: { plan } };
    expect([await refreshed(tokens, 0), await refreshed(tokens, 1)]).toEqual([carried, carried]);
    for (const i of [0, 1]) {
      const me = await bearer(at(i), tokens.access_token).get('/me').expect(200);
      expect(me.body).toMatchObject({ claims: effective });
      const { body: inspected } = await backend(i).post('/oauth2/introspect', { token: tokens.access_token });
      expect(inspected).toMatchObject({ active: true, ...carried });
    }
    await put(tokens, {}).expect(200);
    expect(await refreshed(tokens, 1)).toEqual({
      roles: ['reader'],
      email: 'ada@corp.example',
      claims: { plan: 'free' },
    });
    expect(await eventsOf(tokens)).toHaveLength(2);
  });

  it('of the provider are those of the last sign-in; only a change of the effective ones is announced', async () => {
    const first = await signInWith({ roles: ['a', 'b'] });
    const socket = await SocketClient.connect(at(1), first.access_token);
    await put(first, { roles: ['a'] }, 1).expect(200);
    await signInWith({ roles: ['b', 'a'] }, 1); // in another order
    await put(first, { roles: ['a'] }).expect(200); // again
    await put(first, { roles: ['b'] }).expect(200); // the union is unchanged
    expect(await eventsOf(first)).toEqual([]);
    const again = await signInWith(undefined, 1);
    expect(carriedBy(again.access_token)).toEqual({ roles: ['b'] });
    const event = await socket.next('claims.changed');
    expect(event.data).toEqual({ claims: { roles: ['b'] } });
    expect(await refreshed(first)).toEqual({ roles: ['b'] });
    expect(await eventsOf(first)).toEqual([{ roles: ['b'] }]);
    socket.close();
  });

  it('of a user who has none: the token is as ever, and one statement stores it', async () => {
    const tokens = await signInWith(undefined);
    const issue = jest.spyOn(AccessTokens.prototype, 'issue');
    expect([carriedBy(tokens.access_token), await refreshed(tokens, 1)]).toEqual([{}, {}]);
    expect(issue).toHaveBeenCalledTimes(1);
    expect((await backend().get(pathOf(tokens)).expect(200)).body).toEqual({
      claims: {},
      provider_claims: {},
      effective: {},
    });
  });

  it.each<[string, unknown]>([
    ['a name of the token', { sub: 'x' }],
    ['101 names', Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`n${i}`, 1]))],
    ['a name of 65 characters', { ['n'.repeat(65)]: 1 }],
    ['more than 4 KiB', { text: 'x'.repeat(4090) }],
    ['a prototype', JSON.parse('{"__proto__":{"roles":["admin"]}}')],
    ['roles that are no list of texts', { roles: [1] }],
    ['NUL', { a: ['\0'] }],
    ['no object', ['admin']],
    ['null', null],
    ['nothing', undefined],
  ])('with %s are refused', async (_name, claims) => {
    const tokens = await signInWith(undefined);
    const { body } = await put(tokens, claims).expect(400);
    expect(body).toMatchObject({ error: 'invalid_request' });
    expect(await refreshed(tokens)).toEqual({});
  });

  it('of 100 names and 4 KiB are kept, whatever object has members of these names', async () => {
    const names = Array.from({ length: 97 }, (_, i) => [`n${i}`, 1]);
    for (const claims of [
      Object.fromEntries([
        ...names,
        ['n'.repeat(64), 1],
        ['constructor', { a: 1 }],
        ['hasOwnProperty', 'x'],
      ]) as Claims,
      { text: 'x'.repeat(4096 - '{"text":""}'.length) },
    ]) {
      const tokens = await signInWith(undefined);
      expect((await put(tokens, claims).expect(200)).body).toMatchObject({ effective: claims });
      expect(await refreshed(tokens, 1)).toEqual({ claims });
    }
  });

  it('need the right, and a user', async () => {
    const tokens = await signInWith({ roles: ['a'] });
    await bearer(at(0), tokens.access_token).get(pathOf(tokens)).expect(403);
    await bearer(at(0), 'x'.repeat(40)).get(pathOf(tokens)).expect(401);
    await put({ ...tokens, user_id: randomUUID() }, {}).expect(404);
    await backend().get(`/users/${randomUUID()}/claims`).expect(404);
    await backend().get('/users/ada/claims').expect(400);
    await backend().post('/push', { user_id: tokens.user_id, event: 'claims.changed' }).expect(400);
    await backend().delete(`/users/${tokens.user_id}`).expect(204);
    await put(tokens, { roles: ['b'] }).expect(404);
    await signInWith({ roles: ['b'] });
    expect((await backend().get(pathOf(tokens)).expect(200)).body).toMatchObject({
      effective: { roles: ['b'] },
    });
  });

  it('of a removed user are gone, also on an instance that keeps them', async () => {
    for (const i of [0, 1]) {
      const tokens = await signInWith({ plan: 'free' }, i);
      await put(tokens, { roles: ['admin'] }, i).expect(200);
      await backend(1).delete(pathOf(tokens).replace('/claims', '')).expect(204);
      const again = await signInWith({ plan: 'free' }, i);
      expect(carriedBy(again.access_token)).toEqual({ claims: { plan: 'free' } });
      expect(await refreshed(again, 0)).toEqual({ claims: { plan: 'free' } });
    }
  });

  it('that both sources have go with the last source, whichever instance heard of it', async () => {
    const tokens = await signInWith(undefined);
    await put(tokens, { roles: ['admin'] }).expect(200);
    await signInWith({ roles: ['admin'] }, 1); // the first instance keeps claims without it
    await signInWith(undefined, 0);
    await put(tokens, {}, 1).expect(200);
    expect(await refreshed(tokens, 1)).toEqual({});
  });

  it('are told to a socket with an older token, after `ready`; to no other', async () => {
    const tokens = await signInWith({ roles: ['a'] });
    const first = await SocketClient.connect(at(1), tokens.access_token);
    await put(tokens, { roles: ['b'], plan: { seats: 2, of: 'x' } }).expect(200);
    await first.next('claims.changed');
    const { body } = await request(at(0)).post('/oauth2/refresh').send(tokens).expect(200);
    const other = await signIn(at(0));
    const statements = jest.spyOn(Sql.prototype, 'query');
    const names = () => statements.mock.calls.map(([{ name }]) => name).filter((name) => /claims/.test(name));
    const told = [tokens.access_token, (body as Tokens).access_token, other.access_token].map(
      async (token, i) => {
        const socket = await SocketClient.connect(at(i), token);
        await backend()
          .post('/push', { user_id: claimsOf(token)['sub'], event: 'end' })
          .expect(202);
        await socket.next('end');
        socket.close();
        return socket.received.filter(({ event }) => /^(ready|claims|end)/.test(event));
      },
    );
    const [old, current, without] = await Promise.all(told);
    expect(old!.map(({ event }) => event).slice(0, 2)).toEqual(['ready', 'claims.changed']);
    expect(old![1]).toMatchObject({
      data: { claims: { roles: ['a', 'b'], plan: { seats: 2, of: 'x' } } },
      meta: { offset: null, id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string },
    });
    for (const all of [current, without])
      expect(all!.filter(({ event }) => event === 'claims.changed')).toEqual([]);
    expect(names().filter((name) => !FEED.includes(name))).toEqual([]);
    first.close();
  });

  it('that are all removed are told to a socket, too', async () => {
    const tokens = await signInWith(undefined);
    await put(tokens, { roles: ['admin'] }).expect(200);
    const { body } = await request(at(0)).post('/oauth2/refresh').send(tokens).expect(200);
    await put(tokens, {}, 1).expect(200);
    const socket = await SocketClient.connect(at(0), (body as Tokens).access_token);
    expect((await socket.next('claims.changed')).data).toEqual({ claims: {} });
    socket.close();
  });

  it('are set as a whole by one of many concurrent calls and sign-ins, each change with its event', async () => {
    const tokens = await signInWith(undefined);
    const calls = Array.from({ length: 20 }, (_, i) => put(tokens, { roles: [`r${i}`], [`n${i}`]: i }, i));
    provider.claims.set(user, { groups: ['g'] });
    const signIns = Array.from({ length: 6 }, (_, i) => signIn(at(i), user));
    const [answers, signedIn] = await Promise.all([Promise.all(calls), Promise.all(signIns)]);
    // A busy machine may answer 500 with Retry-After, and then has written nothing.
    const done = answers.filter(({ status, headers }) => status === 200 || !headers['retry-after']);
    expect(new Set(done.map(({ status }) => status))).toEqual(new Set([200]));
    const { body } = await backend().get(pathOf(tokens)).expect(200);
    const { claims, effective } = body as Record<string, Claims>;
    const [, nth] = /^r(\d+)$/.exec((claims!['roles'] as string[])[0]!)!;
    expect(claims).toEqual({ roles: [`r${nth}`], [`n${nth}`]: Number(nth) });
    expect(effective).toEqual({ ...claims, groups: ['g'] });
    const events = await eventsOf(tokens);
    expect(events).toHaveLength(done.length + 1);
    expect(events.at(-1)).toEqual(effective);
    for (const { access_token } of signedIn) {
      const { claims: others = {}, ...top } = carriedBy(access_token) as { claims?: Claims };
      expect([...events]).toContainEqual({ ...top, ...others });
    }
    const { roles, groups, ...others } = effective as Record<string, Claims>;
    for (const i of [0, 1]) expect(await refreshed(tokens, i)).toEqual({ roles, groups, claims: others });
  });

  it('are in no token that is stored after the answer of PUT, also if it was signed before', async () => {
    const tokens = await signInWith({ roles: ['admin'] });
    expect(await refreshed(tokens)).toEqual({ roles: ['admin'] });
    await signInWith({ roles: ['user'] }, 1); // the first instance keeps the former claims
    const lock = new Client(instances[0]!.databaseUrl);
    await lock.connect();
    try {
      const issue = jest.spyOn(AccessTokens.prototype, 'issue');
      const now = performance.now();
      jest.spyOn(performance, 'now').mockReturnValue(now); // a refresh fails after 1.6 s (platform/database/batching.ts)
      await lock.query('BEGIN');
      await lock.query('LOCK TABLE access_tokens IN EXCLUSIVE MODE');
      const pending = refreshed(tokens);
      await waiting(instances[0]!.databaseUrl, [1, 'INSERT INTO access_tokens']); // signed, and about to be stored
      expect(issue).toHaveBeenCalledTimes(1);
      await put(tokens, { roles: ['guest'] }, 1).expect(200);
      await lock.query('COMMIT');
      expect(await pending).toEqual({ roles: ['user', 'guest'] });
      expect(issue).toHaveBeenCalledTimes(2);
      expect(await refreshed(tokens)).toEqual({ roles: ['user', 'guest'] });
      expect(issue).toHaveBeenCalledTimes(3);
    } finally {
      await lock.end();
    }
  });

  it('of one user, changed by many, do not make other users wait', async () => {
    const [hot, other] = [await signInWith(undefined), await signIn(at(0))];
    const lock = new Client(instances[0]!.databaseUrl);
    await lock.connect();
    try {
      await lock.query('BEGIN');
      await lock.query('SELECT FROM users WHERE user_id = $1 FOR UPDATE', [hot.user_id]);
      const changes = Array.from({ length: 2 * POOL_SIZE }, (_, i) => put(hot, { n: i }));
      const all = Promise.all(changes.map(async (change) => (await change).status));
      await waiting(instances[0]!.databaseUrl, [1, 'FOR NO KEY UPDATE']);
      await put(other, { i: 1 }).expect(200);
      await refreshed(other);
      await lock.query('COMMIT');
      expect(new Set([...(await all), 200, 500])).toEqual(new Set([200, 500])); // 500: it waited for too long
    } finally {
      await lock.end();
    }
    const { body } = await backend(1).get(pathOf(hot)).expect(200);
    expect(body).toMatchObject({ claims: { n: expect.any(Number) as number } });
  });

  describe('in the session revocation feed', () => {
    const readers: EventStreamReader[] = [];
    afterEach(() => readers.splice(0).forEach((reader) => reader.close()));
    async function read(i: number, lastEventId?: string): Promise<EventStreamReader> {
      const reader = await EventStreamReader.open(at(i), KEY, lastEventId);
      readers.push(reader);
      await until(() => reader.isReady);
      return reader;
    }
    const changesOf = (reader: EventStreamReader, { user_id }: Tokens) =>
      reader.of('claims_changed').filter((data) => data['user_id'] === user_id) as unknown as {
        claims: Claims;
        changed_at: string;
        until: string;
      }[];

    it('arrive on every instance, and again for a reader that comes back or is new', async () => {
      const tokens = await signInWith({ roles: ['a'] });
      const live = [await read(0), await read(1)];
      const began = Date.now();
      await put(tokens, { roles: ['b'] }).expect(200);
      for (const reader of live) {
        await until(() => changesOf(reader, tokens).length > 0);
        const [{ claims, changed_at, until: end }] = changesOf(reader, tokens) as [never] as [
          { claims: Claims; changed_at: string; until: string },
        ];
        expect(claims).toEqual({ roles: ['a', 'b'] });
        expect(Math.abs(Date.parse(changed_at) - began)).toBeLessThan(60_000);
        // The lifetime of a token. The minute for clocks counts from the reading, which may have begun before the change.
        expect(Date.parse(end) - Date.parse(changed_at)).toBeGreaterThan(3_600_000);
      }
      const cursor = live[0]!.lastEventId;
      live.forEach((reader) => reader.close());
      await put(tokens, { roles: ['c'] }, 1).expect(200);
      await put(tokens, { roles: ['d'] }).expect(200);
      for (const reader of [await read(1, cursor), await read(0), await read(1, '99999999999999')]) {
        await until(() => changesOf(reader, tokens).length > 0);
        expect(changesOf(reader, tokens).at(-1)!.claims).toEqual({ roles: ['a', 'd'] });
      }
    });

    it('are read once by each instance, however often it reads what has changed', async () => {
      const tokens = await signInWith({ roles: ['a'] });
      const both = [await read(0), await read(1)];
      await put(tokens, { roles: ['b'] }).expect(200);
      await until(() => both.every((reader) => changesOf(reader, tokens).length > 0));
      const statements = jest.spyOn(Sql.prototype, 'query');
      const count = (name?: string) => statements.mock.calls.filter(([one]) => one.name === name).length;
      await until(() => count(FEED[0]) > 4);
      expect(count(FEED[1])).toBe(0);
      for (const reader of both) expect(changesOf(reader, tokens)).toHaveLength(1);
    });

    it('are left out when every token with the former claims has expired', async () => {
      const [old, recent] = [await signInWith(undefined), await signIn(at(0))];
      for (const tokens of [old, recent]) await put(tokens, { roles: ['x'] }).expect(200);
      await query(
        instances[0]!.databaseUrl,
        `UPDATE users SET claims_changed_at = now() - interval '2 hours' WHERE user_id = $1`,
        [old.user_id],
      );
      const reader = await read(1);
      expect(changesOf(reader, old)).toEqual([]);
      expect(changesOf(reader, recent)).not.toEqual([]);
    });
  });
});

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Client } from 'pg';
import { Events } from '../../src/events.js';
import { Handshake } from '../../src/realtime/admission/handshake.js';
import { RealtimeService } from '../../src/realtime/push/realtime.service.js';
import { Clock } from '../../src/database/clock.js';
import { bearer } from '../support/bearer.js';
import { watchLateness } from '../support/lateness.js';
import { query } from '../support/query.js';
import { startTestService, type TestService } from '../support/service.js';
import { claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/until.js';
import { waiting } from '../support/waiting.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const SERVICE_KEY = 'a-service-key-of-thirty-two-characters';
const OTHER_SERVICE_KEY = 'another-service-key-of-as-many-characters';

/** The real-time channel on one instance (contract §7, `/push` of §4). */
describe('the real-time channel', () => {
  let provider: StubProvider;
  let service: TestService;
  const clients: SocketClient[] = [];

  beforeAll(async () => {
    provider = await StubProvider.start();
    service = await startTestService({
      ...provider.env(),
      SERVICE_KEYS: `${SERVICE_KEY},${OTHER_SERVICE_KEY}`,
      CORS_ORIGINS: 'https://app.example',
    });
  });
  afterEach(() => clients.splice(0).forEach((client) => client.close()));
  afterAll(async () => {
    await service?.close();
    await provider?.close();
  });

  function open(auth: object, options = {}): SocketClient {
    const client = SocketClient.open(service.url, auth, options);
    clients.push(client);
    return client;
  }
  async function connect({ access_token }: Tokens, options = {}): Promise<SocketClient> {
    const client = await SocketClient.connect(service.url, access_token, options);
    clients.push(client);
    return client;
  }
  const push = (body: object) => bearer(service.url, SERVICE_KEY).post('/push', body);

  describe('the handshake', () => {
    it.each(['websocket', 'polling'])('takes auth.token over %s, and says who it is', async (transport) => {
      const device_id = randomUUID();
      const tokens = await signIn(service.url, randomUUID(), { device_id });
      const client = open({ token: tokens.access_token }, { transports: [transport] });
      const { exp, sid } = claimsOf(tokens.access_token);
      expect(await client.ready()).toEqual({
        user_id: tokens.user_id,
        session_id: sid,
        device_id,
        expires_at: new Date((exp as number) * 1000).toISOString(),
        offset: 1, // the device's own sign-in
        id: expect.stringMatching(UUID),
        recovered: true,
      });
      const { body } = await push({ user_id: tokens.user_id, event: 'hello', data: [1] }).expect(202);
      expect((await client.next('hello')).meta?.id).toBe((body as { id: string }).id);
    });

    it('takes the Authorization header of a native client', async () => {
      const { access_token, user_id } = await signIn(service.url);
      const client = open({}, { extraHeaders: { Authorization: `Bearer ${access_token}` } });
      expect(await client.ready()).toMatchObject({ user_id, device_id: null, offset: 0 });
    });

    it.each<[string, (token: string) => { auth: object; options?: object }]>([
      ['no token', () => ({ auth: {} })],
      ['nonsense', () => ({ auth: { token: 'nonsense' } })],
      ['an empty token', () => ({ auth: { token: '' } })],
      ['a token that is not a string', (token) => ({ auth: { token: [token] } })],
      [
        'the token in the query',
        (token) => ({ auth: {}, options: { query: { token, access_token: token } } }),
      ],
      ['a cut token', (token) => ({ auth: { token: token.slice(0, -1) } })],
    ])('refuses %s, and closes the transport within a second', async (_name, make) => {
      const { access_token } = await signIn(service.url);
      const { auth, options } = make(access_token);
      const client = open(auth, options);
      const { engine } = client.socket.io;
      const [began, lateness] = [performance.now(), watchLateness()];
      const closed = new Promise((resolve) => engine.once('close', resolve));
      expect(await client.refusal()).toEqual({
        error: 'invalid_token',
        error_description: expect.any(String),
      });
      await closed;
      expect(performance.now() - began).toBeLessThan(1000 + 10 * lateness());
    });

    it('closes a refused transport of long polling within a second, whether it is polled or not', async () => {
      const polling = `${service.url}/socket.io/?EIO=4&transport=polling`;
      const opened = await (await fetch(polling)).text();
      const { sid } = JSON.parse(opened.slice(1)) as { sid: string };
      const session = `${polling}&sid=${sid}`;
      await fetch(session, { method: 'POST', body: '40{"token":"wrong"}' });
      await new Promise((resolve) => setTimeout(resolve, 1000)); // a poll in the meantime would get the refusal
      expect((await fetch(session)).status).toBe(400); // nobody knows it any more
    });

    it.each([[-1], [1.5], ['1'], [{}], [2 ** 60]])('refuses the offset %j', async (offset) => {
      const { access_token: token } = await signIn(service.url);
      expect(await open({ token, offset }).refusal()).toMatchObject({ error: 'invalid_request' });
    });

    it.each([
      ['https://app.example', true],
      ['https://evil.example', false],
      ['null', false],
    ])('from origin %s: %s, over both transports', async (origin, allowed) => {
      const { access_token: token } = await signIn(service.url);
      for (const transport of ['websocket', 'polling']) {
        const client = open({ token }, { transports: [transport], extraHeaders: { Origin: origin } });
        if (allowed) await client.ready();
        else expect(await client.refusal()).toMatch(/websocket error|xhr poll error/);
      }
    });

    it('does not serve a client script', async () => {
      const response = await fetch(`${service.url}/socket.io/socket.io.js`);
      expect(response.status).not.toBe(200);
    });
  });

  describe('the user’s own channel', () => {
    it('brings what was pushed, to the user’s sockets and to nobody else', async () => {
      const [ada, bob] = [await signIn(service.url), await signIn(service.url)];
      const [first, second, other] = [await connect(ada), await connect(ada), await connect(bob)];
      const { body } = await push({
        user_id: ada.user_id,
        event: 'order.paid',
        data: { total: 7, text: 'ü\u0000✨' },
      }).expect(202);
      expect(body).toEqual({ id: expect.any(String), offset: 1, online: expect.any(Boolean) });
      for (const client of [first, second]) {
        expect(await client.next('order.paid')).toEqual({
          event: 'order.paid',
          data: { total: 7, text: 'ü\u0000✨' },
          meta: { id: (body as { id: string }).id, offset: 1, sent_at: expect.stringMatching(/^\d{4}-.*Z$/) },
        });
      }
      await push({ user_id: bob.user_id, event: 'done' }).expect(202);
      await other.next('done');
      expect(other.history).toHaveLength(1);
    });

    it('cannot be left for another one, whatever a client sends', async () => {
      const [ada, eve] = [await signIn(service.url), await signIn(service.url)];
      const client = await connect(eve);
      for (const [event, ...args] of [
        ['join', ada.user_id],
        ['subscribe', `user:${ada.user_id}`],
        ['ready', { user_id: ada.user_id }],
        ['push', { user_id: ada.user_id, event: 'x' }],
        ['__proto__', {}],
      ] as [string, unknown][]) {
        client.socket.emit(event, args);
      }
      await push({ user_id: ada.user_id, event: 'secret' }).expect(202);
      await push({ user_id: eve.user_id, event: 'own' }).expect(202);
      await client.next('own');
      expect(client.history.map(({ event }) => event)).toEqual(['own']);
    });

    it('delivers an event for one device to that device only: others see a gap in the offsets', async () => {
      const user = randomUUID();
      const [one, two] = [randomUUID(), randomUUID()];
      const first = await signIn(service.url, user, { device_id: one });
      const second = await signIn(service.url, user, { device_id: two });
      const [onOne, onTwo] = [await connect(first), await connect(second)];
      await push({ user_id: first.user_id, event: 'for.one', device_id: one.toUpperCase() }).expect(202);
      await push({ user_id: first.user_id, event: 'for.all' }).expect(202);
      await Promise.all([onOne.next('for.all'), onTwo.next('for.all')]);
      expect(onOne.history.map(({ event, meta }) => [event, meta!.offset])).toEqual([
        ['for.one', 3],
        ['for.all', 4],
      ]);
      expect(onTwo.history.map(({ event, meta }) => [event, meta!.offset])).toEqual([['for.all', 4]]);
    });

    it('keeps order and every number, however many push at once', async () => {
      const tokens = await signIn(service.url);
      const client = await connect(tokens);
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, n) =>
          push({ user_id: tokens.user_id, event: 'n', data: n }).expect(202),
        ),
      );
      const offsets = answers
        .map(({ body }) => (body as { offset: number }).offset)
        .toSorted((a, b) => a - b);
      expect(offsets).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
      await client.until(() => client.of('n').length === 200);
      expect(client.history.map(({ meta }) => meta!.offset)).toEqual(offsets);
    });
  });

  describe('a client that comes back', () => {
    async function withHistory(count: number): Promise<Tokens> {
      const tokens = await signIn(service.url);
      for (let n = 1; n <= count; n++)
        await push({ user_id: tokens.user_id, event: 'n', data: n }).expect(202);
      return tokens;
    }

    it('first receives what it missed, in order, each once; then new events', async () => {
      const tokens = await withHistory(5);
      const client = open({ token: tokens.access_token, offset: 2 });
      expect(await client.ready()).toMatchObject({ offset: 2, recovered: true });
      await push({ user_id: tokens.user_id, event: 'n', data: 6 }).expect(202);
      await client.until(() => client.of('n').length === 4);
      expect(client.of('n').map(({ data, meta }) => [data, meta!.offset])).toEqual([
        [3, 3],
        [4, 4],
        [5, 5],
        [6, 6],
      ]);
    });

    it('gets only new events when it sends no offset', async () => {
      const tokens = await withHistory(3);
      const client = open({ token: tokens.access_token });
      expect(await client.ready()).toMatchObject({ offset: 3, recovered: true });
      await push({ user_id: tokens.user_id, event: 'n', data: 4 }).expect(202);
      await client.next('n');
      expect(client.of('n').map(({ data }) => data)).toEqual([4]);
    });

    it('is told when an event it missed is no longer kept, and gets the rest', async () => {
      const tokens = await withHistory(4);
      await query(
        service.databaseUrl,
        'UPDATE channel_events SET expires_at = now() WHERE user_id = $1 AND event_offset = 2',
        [tokens.user_id],
      );
      const client = open({ token: tokens.access_token, offset: 1 });
      expect(await client.ready()).toMatchObject({ recovered: false });
      await client.until(() => client.of('n').length === 2);
      expect(client.of('n').map(({ data }) => data)).toEqual([3, 4]);
      expect(await open({ token: tokens.access_token, offset: 2 }).ready()).toMatchObject({
        recovered: true,
      });
    });

    it('with an offset from the future is told so', async () => {
      const tokens = await withHistory(2);
      expect(await open({ token: tokens.access_token, offset: 7 }).ready()).toMatchObject({
        offset: 2,
        recovered: false,
      });
    });

    describe('names the event that it has (contract §7, `id`)', () => {
      const idAt = async ({ user_id }: Tokens, offset: number): Promise<string> => {
        const [row] = await query<{ id: string }>(
          service.databaseUrl,
          'SELECT id FROM channel_events WHERE user_id = $1 AND event_offset = $2',
          [user_id, offset],
        );
        return row!.id;
      };

      it.each<[string, (id: string) => string | null | undefined]>([
        ['rightly', (id) => id],
        ['in capitals', (id) => id.toUpperCase()],
        ['not at all', () => undefined],
        ['with null', () => null],
      ])('%s: it goes on', async (_name, said) => {
        const tokens = await withHistory(3);
        const id = await idAt(tokens, 2);
        const client = open({ token: tokens.access_token, offset: 2, id: said(id) });
        expect(await client.ready()).toMatchObject({ offset: 2, id, recovered: true });
        expect((await client.next('n')).data).toBe(3);
      });

      it('of a history that was restored from a backup: it is told, and begins at the newest', async () => {
        const tokens = await withHistory(2);
        const before = open({ token: tokens.access_token, offset: 1 });
        const { id } = await before.ready();
        await query(
          service.databaseUrl,
          'UPDATE channel_events SET id = $2 WHERE user_id = $1 AND event_offset = 1',
          [tokens.user_id, randomUUID()],
        );
        const client = open({ token: tokens.access_token, offset: 1, id });
        expect(await client.ready()).toMatchObject({
          offset: 2,
          id: await idAt(tokens, 2),
          recovered: false,
        });
        await push({ user_id: tokens.user_id, event: 'n', data: 3 }).expect(202);
        await client.next('n');
        expect(client.of('n').map(({ data }) => data)).toEqual([3]);
      });

      it('which is gone: it is not compared', async () => {
        const tokens = await withHistory(2);
        await query(
          service.databaseUrl,
          'DELETE FROM channel_events WHERE user_id = $1 AND event_offset = 1',
          [tokens.user_id],
        );
        const client = open({ token: tokens.access_token, offset: 1, id: randomUUID() });
        expect(await client.ready()).toMatchObject({ offset: 1, id: null, recovered: true });
        expect((await client.next('n')).data).toBe(2);
      });

      it('without an offset: it is ignored', async () => {
        const tokens = await withHistory(1);
        const ready = await open({ token: tokens.access_token, id: 'nonsense' }).ready();
        expect(ready).toMatchObject({ offset: 1, id: await idAt(tokens, 1), recovered: true });
      });

      it.each(['nonsense', '', 7, {}, ['x'], 'x'.repeat(36)])('with %j: it is refused', async (id) => {
        const tokens = await withHistory(1);
        expect(await open({ token: tokens.access_token, offset: 1, id }).refusal()).toEqual({
          error: 'invalid_request',
          error_description: expect.any(String),
        });
      });
    });

    it('after a thousand events misses and doubles none, while more are pushed', async () => {
      const tokens = await signIn(service.url);
      await query(
        service.databaseUrl,
        `INSERT INTO channel_events (user_id, event_offset, id, event, data, sent_at, expires_at)
         SELECT $1, n, gen_random_uuid(), 'n', n::text, now(), now() + interval '1 hour' FROM generate_series(1, 1000) n`,
        [tokens.user_id],
      );
      await query(service.databaseUrl, 'INSERT INTO channels VALUES ($1, 1000)', [tokens.user_id]);
      const client = open({ token: tokens.access_token, offset: 0 });
      await Promise.all(
        Array.from({ length: 50 }, () => push({ user_id: tokens.user_id, event: 'n' }).expect(202)),
      );
      await client.until(() => client.of('n').length >= 1050);
      expect(client.of('n').map(({ meta }) => meta!.offset)).toEqual(
        Array.from({ length: 1050 }, (_, i) => i + 1),
      );
    });

    it('does not get what was pushed with a ttl of 0: that was only for connected clients', async () => {
      const tokens = await signIn(service.url);
      const client = await connect(tokens);
      const { body } = await push({ user_id: tokens.user_id, event: 'now', ttl: 0 }).expect(202);
      expect((body as { offset: unknown }).offset).toBeNull();
      expect((await client.next('now')).meta!.offset).toBeNull();
      expect(await open({ token: tokens.access_token, offset: 0 }).ready()).toMatchObject({
        offset: 0,
        recovered: true,
      });
    });
  });

  describe('the life of a socket', () => {
    it('ends when its session is signed out, within a second, and a standard client stays away', async () => {
      const user = randomUUID();
      const [here, there] = [await signIn(service.url, user), await signIn(service.url, user)];
      const [ended, other] = [await connect(here, { reconnection: true }), await connect(there)];
      const [began, lateness] = [performance.now(), watchLateness()];
      await bearer(service.url, here.access_token).post('/sign-out').expect(204);
      expect(await ended.closed()).toBe('io server disconnect');
      expect(performance.now() - began).toBeLessThan(1000 + 10 * lateness());
      expect(ended.received.at(-1)).toEqual({ event: 'session.ended', data: { reason: 'signed_out' } });
      expect(ended.socket.active).toBe(false);
      expect(other.socket.connected).toBe(true);
    });

    it('cannot slip in while its session ends', async () => {
      for (let round = 0; round < 5; round++) {
        const tokens = await signIn(service.url);
        const openings = Array.from({ length: 5 }, () => open({ token: tokens.access_token }));
        await bearer(service.url, tokens.access_token).post('/sign-out').expect(204);
        const ends = openings.map((client) =>
          Promise.race([client.closed(), client.refusal().catch(() => client.closed())]),
        );
        await Promise.all(ends);
        expect(openings.some(({ socket }) => socket.connected)).toBe(false);
      }
    });

    it('does not begin when its session ended between admission and opening', async () => {
      const tokens = await signIn(service.url);
      const handshake = service.app.get(Handshake);
      const admit = handshake.admit.bind(handshake);
      const admitting = jest.spyOn(handshake, 'admit').mockImplementationOnce(async (...args) => {
        const admission = await admit(...args);
        const told = once(service.app.get(Events), 'session.ended');
        await bearer(service.url, tokens.access_token).post('/sign-out').expect(204);
        await told;
        return admission;
      });
      const client = open({ token: tokens.access_token });
      expect(await client.closed()).toBe('io server disconnect');
      expect(client.received).toEqual([{ event: 'session.ended', data: { reason: 'signed_out' } }]);
      admitting.mockRestore();
    });

    it('ends with its transport when the client leaves the namespace', async () => {
      const { access_token: token } = await signIn(service.url);
      const client = open({ token });
      await client.ready();
      const { engine } = client.socket.io;
      const closed = new Promise((resolve) => engine.once('close', resolve));
      engine.write('1'); // a DISCONNECT of Socket.IO, below its client
      await closed;
    });

    it('hears of an expiry that is near once it is ready, also where the database is slow (contract §7)', async () => {
      const brief = await startTestService({ ...provider.env(), ACCESS_TOKEN_TTL: '30' });
      const holder = new Client(brief.databaseUrl);
      await holder.connect();
      try {
        const { access_token } = await signIn(brief.url);
        await holder.query('BEGIN; LOCK TABLE channels');
        const client = SocketClient.open(brief.url, { token: access_token });
        expect(await waiting(brief.databaseUrl, 1, client.closed())).toBe(true);
        await Promise.race([client.next('token.expiring'), delay(600)]); // more than two looks at what is due
        await holder.query('COMMIT');
        await client.next('token.expiring');
        expect(client.received.map(({ event }) => event)).toEqual(['ready', 'token.expiring']);
        client.close();
      } finally {
        await holder.end();
        await brief.close();
      }
    });

    it('ends at expiry, at most a second late, with nothing delivered after it', async () => {
      const brief = await startTestService({
        ...provider.env(),
        ACCESS_TOKEN_TTL: '2',
        SERVICE_KEYS: SERVICE_KEY,
      });
      try {
        const tokens = await signIn(brief.url);
        const client = await SocketClient.connect(brief.url, tokens.access_token);
        const exp = (claimsOf(tokens.access_token)['exp'] as number) * 1000;
        expect((await client.next('token.expiring')).data).toEqual({
          expires_at: new Date(exp).toISOString(),
        });
        const clock = brief.app.get(Clock); // the database's clock, by which tokens expire
        await until(() => clock.now() >= exp);
        await bearer(brief.url, SERVICE_KEY)
          .post('/push', { user_id: tokens.user_id, event: 'late' })
          .expect(202);
        expect(await client.closed()).toBe('io server disconnect');
        expect(clock.now() - exp).toBeLessThan(1500); // a second, and what the machine needs
        expect(client.received.map(({ event }) => event)).toEqual([
          'ready',
          'token.expiring',
          'session.ended',
        ]);
        expect(client.received.at(-1)!.data).toEqual({ reason: 'expired' });
      } finally {
        await brief.close();
      }
    });

    it('goes on with a new token of the same session', async () => {
      const brief = await startTestService({ ...provider.env(), ACCESS_TOKEN_TTL: '6' });
      try {
        const tokens = await signIn(brief.url);
        const client = await SocketClient.connect(brief.url, tokens.access_token);
        const end = (claimsOf(tokens.access_token)['exp'] as number) * 1000 + 500; // beyond the life of the first token
        while (Date.now() < end) {
          const fresh = await bearer(brief.url, '')
            .post('/oauth2/refresh', { refresh_token: tokens.refresh_token })
            .expect(200);
          const { access_token: token } = fresh.body as Tokens;
          const ack: unknown = await client.socket.emitWithAck('authenticate', { token });
          expect(ack).toEqual({
            expires_at: new Date((claimsOf(token)['exp'] as number) * 1000).toISOString(),
          });
          await new Promise((resolve) => setTimeout(resolve, 200)); // 20 messages a second are too many
        }
        expect(client.socket.connected).toBe(true);
        client.close();
      } finally {
        await brief.close();
      }
    });

    it('is told again that its token is expiring where its client has no other one, but not at once', async () => {
      const brief = await startTestService({ ...provider.env(), ACCESS_TOKEN_TTL: '50' });
      try {
        const { access_token: token } = await signIn(brief.url);
        const client = await SocketClient.connect(brief.url, token);
        const { data } = await client.next('token.expiring');
        expect(await client.socket.emitWithAck('authenticate', { token })).toEqual(data);
        const witness = await SocketClient.connect(brief.url, token); // whoever is to be told by then has been told
        await witness.next('token.expiring');
        await client.socket.emitWithAck('authenticate', {});
        expect(client.received.map(({ event }) => event)).toEqual(['ready', 'token.expiring']);
        await until(() => client.received.length === 3);
        expect(client.received.at(-1)).toEqual({ event: 'token.expiring', data });
        client.close();
        witness.close();
      } finally {
        await brief.close();
      }
    });

    it.each<[string, (own: Tokens, other: Tokens) => unknown]>([
      ['a token of another session', (_own, other) => ({ token: other.access_token })],
      ['nonsense', () => ({ token: 'x' })],
      ['no token', () => ({})],
      ['nothing', () => undefined],
      ['text', (own) => own.access_token],
    ])('does not take %s to authenticate, and stays as it was', async (_name, make) => {
      const user = randomUUID();
      const [own, other] = [await signIn(service.url, user), await signIn(service.url, user)];
      const client = await connect(own);
      const ack: unknown = await client.socket.emitWithAck('authenticate', make(own, other));
      expect(ack).toEqual({ error: 'invalid_token', error_description: expect.any(String) });
      expect(client.socket.connected).toBe(true);
    });

    it('is not cut short by a token that expires sooner than its own', async () => {
      const tokens = await signIn(service.url);
      await new Promise((resolve) => setTimeout(resolve, 1000 - (Date.now() % 1000))); // `exp` has whole seconds
      const { refresh_token } = tokens;
      const fresh = await bearer(service.url, '').post('/oauth2/refresh', { refresh_token }).expect(200);
      const { access_token: newer } = fresh.body as Tokens;
      const expires_at = new Date((claimsOf(newer)['exp'] as number) * 1000).toISOString();
      const client = await connect({ ...tokens, access_token: newer });
      for (const token of [tokens.access_token, newer, tokens.access_token]) {
        expect(await client.socket.emitWithAck('authenticate', { token })).toEqual({ expires_at });
      }
      const later = await connect(tokens);
      for (const token of [newer, tokens.access_token]) {
        expect(await later.socket.emitWithAck('authenticate', { token })).toEqual({ expires_at });
      }
    });

    it('announces a shutdown, and a standard client reconnects by itself', async () => {
      const stopping = await startTestService(provider.env());
      const tokens = await signIn(stopping.url);
      const client = await SocketClient.connect(stopping.url, tokens.access_token, { reconnection: true });
      await stopping.close();
      expect(await client.closed()).toBe('transport close');
      expect(client.received.at(-1)).toEqual({ event: 'session.ended', data: { reason: 'shutdown' } });
      expect(client.socket.active).toBe(true);
      client.close();
    });

    it('ends when its client sends too much: a standard client reconnects by itself', async () => {
      const client = await connect(await signIn(service.url), { reconnection: true });
      for (let i = 0; i < 60; i++) client.socket.emit('noise', i);
      expect(await client.closed()).toBe('transport close');
      expect(client.received.at(-1)).toEqual({ event: 'session.ended', data: { reason: 'overloaded' } });
      expect(client.socket.active).toBe(true);
      await client.until(() => client.of('ready').length === 2);
    });

    it('accepts 50 messages at once', async () => {
      const client = await connect(await signIn(service.url));
      for (let i = 0; i < 45; i++) client.socket.emit('noise', i);
      expect(await client.socket.emitWithAck('authenticate', {})).toMatchObject({ error: 'invalid_token' });
    });

    it('ends when its client sends a frame over 64 KiB', async () => {
      const client = await connect(await signIn(service.url));
      client.socket.emit('noise', 'x'.repeat(70_000));
      expect(await client.closed()).toMatch(/transport (close|error)/);
    });

    it('a user may have 20 sockets, and the next is told to slow down', async () => {
      const tokens = await signIn(service.url);
      for (let i = 0; i < 20; i++) await connect(tokens);
      expect(await open({ token: tokens.access_token }).refusal()).toMatchObject({ error: 'slow_down' });
      clients.splice(0, 1)[0]!.close();
      await new Promise((resolve) => setTimeout(resolve, 50));
      await connect(tokens);
    });
  });

  describe('online', () => {
    const isOnline = async ({ user_id }: Tokens, device_id?: string) => {
      const { body } = await push({ user_id, event: 'x', ttl: 0, ...(device_id && { device_id }) }).expect(
        202,
      );
      return (body as { online: boolean }).online;
    };

    it('follows the sockets, for the user and for each device', async () => {
      const user = randomUUID();
      const [one, two] = [randomUUID(), randomUUID()];
      const tokens = await signIn(service.url, user, { device_id: one });
      await signIn(service.url, user, { device_id: two });
      expect(await isOnline(tokens)).toBe(false);
      const client = await connect(tokens);
      const began = performance.now();
      while (!(await isOnline(tokens))) expect(performance.now() - began).toBeLessThan(5000);
      expect([await isOnline(tokens, one), await isOnline(tokens, two)]).toEqual([true, false]);
      const listed = async () => {
        const { body } = await bearer(service.url, tokens.access_token).get('/devices').expect(200);
        const { devices } = body as { devices: { device_id: string; online: boolean }[] };
        return Object.fromEntries(devices.map(({ device_id, online }) => [device_id, online]));
      };
      while (!(await listed())[one]) expect(performance.now() - began).toBeLessThan(5000);
      expect(await listed()).toEqual({ [one]: true, [two]: false });
      client.close();
      while (await isOnline(tokens)) expect(performance.now() - began).toBeLessThan(10_000);
    });
  });

  describe('the service’s own events', () => {
    it('announce devices that sign in, are renamed and sign out', async () => {
      const user = randomUUID();
      const [mine, new_one] = [randomUUID(), randomUUID()];
      const tokens = await signIn(service.url, user, { device_id: mine });
      const client = await connect(tokens);
      const other = await signIn(service.url, user, {
        device_id: new_one,
        device_name: 'New',
        user_agent: 'UA',
      });
      const as = bearer(service.url, other.access_token);
      await as.patch(`/devices/${new_one}`, { device_name: 'Newer' }).expect(200);
      await as.post('/sign-out').expect(204);
      await client.next('device.signed_out');
      const device = {
        device_id: new_one,
        user_agent: 'UA',
        created_at: expect.any(String),
        last_seen_at: expect.any(String),
      };
      expect(client.history.map(({ event, data, meta }) => [event, meta!.offset, data])).toEqual([
        ['device.signed_in', 2, { ...device, device_name: 'New' }],
        ['device.renamed', 3, { ...device, device_name: 'Newer' }],
        ['device.signed_out', 4, { ...device, device_name: 'Newer' }],
      ]);
      const [signedIn] = client.of('device.signed_in');
      const { body } = await bearer(service.url, tokens.access_token).get('/devices').expect(200);
      const [listed] = (body as { devices: { device_id: string; created_at: string }[] }).devices.filter(
        ({ device_id }) => device_id === new_one,
      );
      expect((signedIn!.data as { created_at: string }).created_at).toBe(listed!.created_at);
    });

    it('announce a device that is removed, but not sessions without a device', async () => {
      const user = randomUUID();
      const [mine, lost] = [randomUUID(), randomUUID()];
      const tokens = await signIn(service.url, user, { device_id: mine });
      await signIn(service.url, user, { device_id: lost });
      const client = await connect(tokens);
      const none = await signIn(service.url, user);
      await bearer(service.url, none.access_token).post('/sign-out').expect(204);
      await bearer(service.url, tokens.access_token).delete(`/devices/${lost}`).expect(204);
      await client.next('device.signed_out');
      expect(
        client.history.map(({ event, data }) => [event, (data as { device_id: string }).device_id]),
      ).toEqual([['device.signed_out', lost]]);
    });
  });

  describe('POST /push', () => {
    it.each<[string, object, number]>([
      ['no user', { event: 'x' }, 400],
      ['a user that is not a UUID', { user_id: 'ada', event: 'x' }, 400],
      ['an unknown user', { user_id: randomUUID(), event: 'x' }, 404],
      ['no event', { user_id: 'USER' }, 400],
      ['an empty event', { user_id: 'USER', event: '' }, 400],
      ['an event of 129 characters', { user_id: 'USER', event: 'x'.repeat(129) }, 400],
      ['an event with a space', { user_id: 'USER', event: 'a b' }, 400],
      ['an event with a line feed', { user_id: 'USER', event: 'a\n' }, 400],
      ['an event as an array', { user_id: 'USER', event: ['x'] }, 400],
      ...[
        'device.x',
        'session.ended',
        'token.x',
        'ready',
        'authenticate',
        'connect',
        'connect_error',
        'disconnect',
        'error',
        'disconnecting',
        'newListener',
        'removeListener',
      ].map((event): [string, object, number] => [
        `the reserved event ${event}`,
        { user_id: 'USER', event },
        400,
      ]),
      ['an unknown device', { user_id: 'USER', event: 'x', device_id: randomUUID() }, 404],
      ['a device that is not a UUID', { user_id: 'USER', event: 'x', device_id: 'phone' }, 400],
      ['a negative ttl', { user_id: 'USER', event: 'x', ttl: -1 }, 400],
      ['a ttl that is not whole', { user_id: 'USER', event: 'x', ttl: 1.5 }, 400],
      ['a ttl that is text', { user_id: 'USER', event: 'x', ttl: '1' }, 400],
    ])('refuses %s and stores nothing', async (_name, body, status) => {
      const { user_id } = await signIn(service.url);
      const response = await push({
        ...body,
        ...('user_id' in body && body.user_id === 'USER' && { user_id }),
      });
      expect([response.status, response.body]).toEqual([
        status,
        { error: expect.any(String), error_description: expect.any(String) },
      ]);
      const [row] = await query(
        service.databaseUrl,
        'SELECT count(*)::int AS n FROM channels WHERE user_id = $1',
        [user_id],
      );
      expect(row).toEqual({ n: 0 });
    });

    it.each(['x', 'readyness', 'connected', 'devices.x', 'a.b:c-d_9', 'errors', 'x'.repeat(128)])(
      'takes the event %s',
      async (event) => {
        const { user_id } = await signIn(service.url);
        await push({ user_id, event }).expect(202);
      },
    );

    it.each([[null], [[1, [2]]], [{ a: { b: null } }], ['text'], [0], [false]])(
      'carries %j as it is',
      async (data) => {
        const tokens = await signIn(service.url);
        const client = await connect(tokens);
        await push({ user_id: tokens.user_id, event: 'x', data }).expect(202);
        expect((await client.next('x')).data).toEqual(data);
      },
    );

    it('refuses the device of somebody else, and stores nothing for either', async () => {
      const device_id = randomUUID();
      const [ada, bob] = [await signIn(service.url), await signIn(service.url, randomUUID(), { device_id })];
      const onDevice = await connect(bob);
      const { body } = await push({ user_id: ada.user_id, event: 'x', device_id }).expect(404);
      expect(body).toMatchObject({ error: 'not_found' });
      await push({ user_id: ada.user_id, event: 'x', device_id, ttl: 0 }).expect(404);
      await push({ user_id: bob.user_id, event: 'own', device_id }).expect(202);
      await onDevice.next('own');
      expect(onDevice.history.map(({ event, meta }) => [event, meta!.offset])).toEqual([['own', 2]]);
      const channels = await query(service.databaseUrl, 'SELECT 1 FROM channels WHERE user_id = $1', [
        ada.user_id,
      ]);
      expect(channels).toEqual([]);
    });

    it('from code follows the same rules, and arrives as it is stored', async () => {
      const tokens = await signIn(service.url);
      const realtime = service.app.get(RealtimeService);
      const client = await connect(tokens);
      for (const event of ['connect', 'session.ended', 'device.x', '', 'a b']) {
        await expect(realtime.push(tokens.user_id, event, 1)).rejects.toMatchObject({
          error: 'invalid_request',
        });
      }
      const deep: unknown = JSON.parse('['.repeat(101) + ']'.repeat(101));
      for (const data of [deep, 1n, () => 1]) {
        for (const options of [{}, { ttl: 0 }, { idempotencyKey: randomUUID() }]) {
          const pushing = realtime.push(tokens.user_id, 'x', data, options);
          await expect(pushing).rejects.toMatchObject({ error: 'invalid_request' });
        }
      }
      await realtime.push(tokens.user_id, 'x', { bytes: Buffer.from('a'), at: new Date(0) });
      const late = open({ token: tokens.access_token, offset: 0 });
      const [now, then] = [await client.next('x'), await late.next('x')];
      expect(now).toEqual(then);
      expect(now.data).toEqual({ bytes: { type: 'Buffer', data: [97] }, at: '1970-01-01T00:00:00.000Z' });
      expect(client.history).toHaveLength(1);
    });

    it('refuses more than 64 KiB', async () => {
      const { user_id } = await signIn(service.url);
      await push({ user_id, event: 'x', data: 'x'.repeat(65_536) }).expect(413);
    });

    describe('with an Idempotency-Key', () => {
      const pushOnce = (key: string, body: object, serviceKey = SERVICE_KEY) =>
        bearer(service.url, serviceKey).post('/push', body).set('Idempotency-Key', key);

      it('is done once: the same body gets the first answer again', async () => {
        const tokens = await signIn(service.url);
        const body = { user_id: tokens.user_id, event: 'x', data: { a: 1 } };
        const key = randomUUID();
        const answers = await Promise.all(Array.from({ length: 10 }, () => pushOnce(key, body).expect(202)));
        for (const { body: answer } of answers) expect(answer).toEqual(answers[0]!.body);
        expect((answers[0]!.body as { offset: number }).offset).toBe(1);
        const [row] = await query(
          service.databaseUrl,
          'SELECT count(*)::int AS n FROM channel_events WHERE user_id = $1',
          [tokens.user_id],
        );
        expect(row).toEqual({ n: 1 });
      });

      it('refuses another body under the same key', async () => {
        const { user_id } = await signIn(service.url);
        const key = randomUUID();
        await pushOnce(key, { user_id, event: 'x', data: 1 }).expect(202);
        expect((await pushOnce(key, { user_id, event: 'x', data: 2 }).expect(400)).body).toMatchObject({
          error: 'invalid_request',
        });
      });

      it('belongs to its service key: the same key under another one is a different key', async () => {
        const { user_id } = await signIn(service.url);
        const key = randomUUID();
        const body = { user_id, event: 'x', data: 1 };
        const first = await pushOnce(key, body).expect(202);
        const second = await pushOnce(key, body, OTHER_SERVICE_KEY).expect(202);
        expect([first.body, second.body]).toMatchObject([{ offset: 1 }, { offset: 2 }]);
        const other = { ...body, data: 2 };
        await pushOnce(key, other).expect(400);
        await pushOnce(key, other, OTHER_SERVICE_KEY).expect(400);
        expect((await pushOnce(key, body, OTHER_SERVICE_KEY).expect(202)).body).toEqual(second.body);
        expect((await pushOnce(key, body).expect(202)).body).toEqual(first.body);
      });

      it('forgets the key after 24 hours, and does not remember what failed', async () => {
        const { user_id } = await signIn(service.url);
        const key = randomUUID();
        await pushOnce(key, { user_id: randomUUID(), event: 'x' }).expect(404);
        await pushOnce(key, { user_id, event: 'x' }).expect(202);
        // The service compares with its own measure of the database's clock, which may be some milliseconds behind.
        await query(
          service.databaseUrl,
          "UPDATE idempotency_keys SET expires_at = now() - interval '1 second'",
        );
        const { body } = await pushOnce(key, { user_id, event: 'y' }).expect(202);
        expect((body as { offset: number }).offset).toBe(2);
      });

      it.each(['', 'k'.repeat(256)])('refuses the key %j', async (key) => {
        const { user_id } = await signIn(service.url);
        await pushOnce(key, { user_id, event: 'x' }).expect(400);
      });
    });
  });
});

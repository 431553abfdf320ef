import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Client } from 'pg';
import type { Socket } from 'socket.io';
import { Clock } from '../../src/database/clock.js';
import { Events } from '../../src/events.js';
import { Admission } from '../../src/realtime/admission/admission.js';
import { ConnectionRegistry } from '../../src/realtime/socket/connection-registry.js';
import { bearer, claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { Channel, SERVICE_KEY } from '../support/channel.js';
import { watchLateness, until, waiting } from '../support/waiting.js';
import { SocketClient } from '../support/socket-client.js';

/** A socket lives exactly as long as its session's access token (contract §7). */
describe('the life of a socket', () => {
  const channel = Channel.around();
  const open: Channel['open'] = (...args) => channel.open(...args);
  const connect: Channel['connect'] = (...args) => channel.connect(...args);

  it('ends when its session is signed out, within a second, and a standard client stays away', async () => {
    const user = randomUUID();
    const [here, there] = [await channel.signIn(user), await channel.signIn(user)];
    const [ended, other] = [await connect(here, { reconnection: true }), await connect(there)];
    const [began, lateness] = [performance.now(), watchLateness()];
    await bearer(channel.url, here.access_token).post('/sign-out').expect(204);
    expect(await ended.closed()).toBe('io server disconnect');
    expect(performance.now() - began).toBeLessThan(1000 + 10 * lateness());
    expect(ended.received.at(-1)).toEqual({ event: 'session.ended', data: { reason: 'signed_out' } });
    expect(ended.socket.active).toBe(false);
    expect(other.socket.connected).toBe(true);
  });

  it('cannot slip in while its session ends', async () => {
    for (let round = 0; round < 5; round++) {
      const tokens = await channel.signIn();
      const openings = Array.from({ length: 5 }, () => open({ token: tokens.access_token }));
      await bearer(channel.url, tokens.access_token).post('/sign-out').expect(204);
      const ends = openings.map((client) =>
        Promise.race([client.closed(), client.refusal().catch(() => client.closed())]),
      );
      await Promise.all(ends);
      expect(openings.some(({ socket }) => socket.connected)).toBe(false);
    }
  });

  it('does not begin when its session ended between admission and opening', async () => {
    const tokens = await channel.signIn();
    const handshake = channel.service.app.get(Admission);
    const admit = handshake.admit.bind(handshake);
    const admitting = jest.spyOn(handshake, 'admit').mockImplementationOnce(async (...args) => {
      const admission = await admit(...args);
      const told = once(channel.service.app.get(Events), 'session.ended');
      await bearer(channel.url, tokens.access_token).post('/sign-out').expect(204);
      await told;
      return admission;
    });
    const client = open({ token: tokens.access_token });
    expect(await client.closed()).toBe('io server disconnect');
    expect(client.received).toEqual([{ event: 'session.ended', data: { reason: 'signed_out' } }]);
    admitting.mockRestore();
  });

  it('ends with its transport when the client leaves the namespace', async () => {
    const { access_token: token } = await channel.signIn();
    const client = open({ token });
    await client.ready();
    const { engine } = client.socket.io;
    const closed = new Promise((resolve) => engine.once('close', resolve));
    engine.write('1'); // a DISCONNECT of Socket.IO, below its client
    await closed;
  });

  it('hears of an expiry that is near once it is ready, also where the database is slow (contract §7)', async () => {
    const brief = await channel.another({ ACCESS_TOKEN_TTL: '30' });
    const holder = new Client(brief.databaseUrl);
    await holder.connect();
    try {
      const { access_token } = await signIn(brief.url);
      await holder.query('BEGIN; LOCK TABLE channels');
      const client = open({ token: access_token }, {}, brief);
      expect(await waiting(brief.databaseUrl, 1, client.closed())).toBe(true);
      await Promise.race([client.next('token.expiring'), delay(600)]); // more than two looks at what is due
      await holder.query('COMMIT');
      await client.next('token.expiring');
      expect(client.received.map(({ event }) => event)).toEqual(['ready', 'token.expiring']);
      client.close();
    } finally {
      await holder.end();
    }
  });

  it('ends at expiry, at most a second late, with nothing delivered after it', async () => {
    const brief = await channel.another({ ACCESS_TOKEN_TTL: '2' });
    const tokens = await signIn(brief.url);
    const client = await connect(tokens, {}, brief);
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
    expect(client.received.map(({ event }) => event)).toEqual(['ready', 'token.expiring', 'session.ended']);
    expect(client.received.at(-1)!.data).toEqual({ reason: 'expired' });
  });

  it('goes on with a new token of the same session', async () => {
    const brief = await channel.another({ ACCESS_TOKEN_TTL: '6' });
    const tokens = await signIn(brief.url);
    const client = await connect(tokens, {}, brief);
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
  });

  it('is told again that its token is expiring where its client has no other one, but not at once', async () => {
    const brief = await channel.another({ ACCESS_TOKEN_TTL: '50' });
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
  });

  it.each<[string, (own: Tokens, other: Tokens) => unknown]>([
    ['a token of another session', (_own, other) => ({ token: other.access_token })],
    ['nonsense', () => ({ token: 'x' })],
    ['no token', () => ({})],
    ['nothing', () => undefined],
    ['text', (own) => own.access_token],
  ])('does not take %s to authenticate, and stays as it was', async (_name, make) => {
    const user = randomUUID();
    const [own, other] = [await channel.signIn(user), await channel.signIn(user)];
    const client = await connect(own);
    const ack: unknown = await client.socket.emitWithAck('authenticate', make(own, other));
    expect(ack).toEqual({ error: 'invalid_token', error_description: expect.any(String) });
    expect(client.socket.connected).toBe(true);
  });

  it('is not cut short by a token that expires sooner than its own', async () => {
    const tokens = await channel.signIn();
    await new Promise((resolve) => setTimeout(resolve, 1000 - (Date.now() % 1000))); // `exp` has whole seconds
    const { refresh_token } = tokens;
    const fresh = await bearer(channel.url, '').post('/oauth2/refresh', { refresh_token }).expect(200);
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
    const stopping = await channel.another();
    const tokens = await signIn(stopping.url);
    const client = await connect(tokens, { reconnection: true }, stopping);
    await stopping.close();
    expect(await client.closed()).toBe('transport close');
    expect(client.received.at(-1)).toEqual({ event: 'session.ended', data: { reason: 'shutdown' } });
    expect(client.socket.active).toBe(true);
  });

  it('ends when its client sends too much: a standard client reconnects by itself', async () => {
    const client = await connect(await channel.signIn(), { reconnection: true });
    for (let i = 0; i < 60; i++) client.socket.emit('noise', i);
    expect(await client.closed()).toBe('transport close');
    expect(client.received.at(-1)).toEqual({ event: 'session.ended', data: { reason: 'overloaded' } });
    expect(client.socket.active).toBe(true);
    await client.until(() => client.of('ready').length === 2);
  });

  it('accepts 50 messages at once', async () => {
    const client = await connect(await channel.signIn());
    for (let i = 0; i < 45; i++) client.socket.emit('noise', i);
    expect(await client.socket.emitWithAck('authenticate', {})).toMatchObject({ error: 'invalid_token' });
  });

  it('a user may have 20 sockets, and the next is told to slow down', async () => {
    const tokens = await channel.signIn();
    const [first] = await Promise.all(Array.from({ length: 20 }, () => connect(tokens)));
    expect(await open({ token: tokens.access_token }).refusal()).toMatchObject({ error: 'slow_down' });
    first!.close();
    await new Promise((resolve) => setTimeout(resolve, 50));
    await connect(tokens);
  });

  it('outlives the request that it began with: that takes memory no more, but listeners of `connection` had it', async () => {
    const opened: { socket: Socket; had: boolean }[] = [];
    const registry = channel.service.app.get(ConnectionRegistry);
    const register = registry.open.bind(registry);
    jest.spyOn(registry, 'open').mockImplementation((socket, admission) => {
      opened.push({ socket, had: socket.request.url !== undefined });
      register(socket, admission);
    });
    const client = await connect(await channel.signIn(), { extraHeaders: { 'x-app': 'mine' } });
    jest.restoreAllMocks();
    const [{ socket, had }] = opened as [(typeof opened)[0]];
    expect([had, socket.request]).toEqual([true, undefined]);
    expect(socket.handshake.headers['x-app']).toBe('mine');
    expect(client.socket.connected).toBe(true);
  });

  describe('online', () => {
    const isOnline = async ({ user_id }: Tokens, device_id?: string) => {
      const { body } = await channel
        .push({ user_id, event: 'x', ttl: 0, ...(device_id && { device_id }) })
        .expect(202);
      return (body as { online: boolean }).online;
    };

    it('follows the sockets, for the user and for each device', async () => {
      const user = randomUUID();
      const [one, two] = [randomUUID(), randomUUID()];
      const tokens = await channel.signIn(user, { device_id: one });
      await channel.signIn(user, { device_id: two });
      expect(await isOnline(tokens)).toBe(false);
      const client = await connect(tokens);
      const began = performance.now();
      while (!(await isOnline(tokens))) expect(performance.now() - began).toBeLessThan(5000);
      expect([await isOnline(tokens, one), await isOnline(tokens, two)]).toEqual([true, false]);
      const listed = async () => {
        const { body } = await bearer(channel.url, tokens.access_token).get('/devices').expect(200);
        const { devices } = body as { devices: { device_id: string; online: boolean }[] };
        return Object.fromEntries(devices.map(({ device_id, online }) => [device_id, online]));
      };
      while (!(await listed())[one]) expect(performance.now() - began).toBeLessThan(5000);
      expect(await listed()).toEqual({ [one]: true, [two]: false });
      client.close();
      while (await isOnline(tokens)) expect(performance.now() - began).toBeLessThan(10_000);
    });
  });
});

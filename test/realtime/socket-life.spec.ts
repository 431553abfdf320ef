import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Client } from 'pg';
import type { Socket } from 'socket.io';
import { Clock } from '../../src/platform/database/clock.js';
import { Events } from '../../src/platform/events.js';
import { HandshakeQueue } from '../../src/realtime/handshakes/handshake-queue.js';
import { ConnectionRegistry } from '../../src/realtime/socket/connection-registry.js';
import { Channel } from '../support/channel.js';
import { bearer, claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { watchLateness, waiting } from '../support/waiting.js';

/** In which all sockets are looked at twice. */
const TWO_TICKS_MS = 600;

/**
 * A socket lives exactly as long as its session's access token (docs/realtime.md#the-life-of-a-connection).
 */
describe('the life of a socket', () => {
  const channel = Channel.around();
  const open: Channel['open'] = (...args) => channel.open(...args);
  const connect: Channel['connect'] = (...args) => channel.connect(...args);
  const rfc3339 = (ms: number): string => new Date(ms).toISOString();
  const expiryOf = ({ access_token }: Tokens): number => (claimsOf(access_token)['exp'] as number) * 1000;
  afterEach(() => jest.restoreAllMocks());

  /** Sets the clock by which tokens are issued and expire. */
  function setClock(now: number): void {
    jest.restoreAllMocks();
    const clock = channel.service.app.get(Clock);
    const read = clock.now.bind(clock);
    const correction = now - read();
    jest.spyOn(clock, 'now').mockImplementation(() => read() + correction);
  }
  async function refresh({ refresh_token, ...tokens }: Tokens): Promise<Tokens> {
    const { body } = await bearer(channel.url, '').post('/oauth2/refresh', { refresh_token }).expect(200);
    return { ...tokens, refresh_token, ...(body as Partial<Tokens>) };
  }

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

  it('does not begin while its session ends', async () => {
    const tokens = await channel.signIn();
    const openings = Array.from({ length: 10 }, () => open({ token: tokens.access_token }));
    const ends = openings.map((client) =>
      Promise.race([client.closed(), client.refusal().catch(() => client.closed())]),
    );
    await bearer(channel.url, tokens.access_token).post('/sign-out').expect(204);
    await Promise.all(ends);
    expect(openings.some(({ socket }) => socket.connected)).toBe(false);
  });

  it('does not begin when its session ended between admission and opening', async () => {
    const tokens = await channel.signIn();
    const admission = channel.service.app.get(HandshakeQueue);
    const admit = admission.admit.bind(admission);
    jest.spyOn(admission, 'admit').mockImplementationOnce(async (socket) => {
      const admitted = await admit(socket);
      const ended = once(channel.service.app.get(Events), 'session.ended');
      await bearer(channel.url, tokens.access_token).post('/sign-out').expect(204);
      await ended;
      return admitted;
    });
    const client = open({ token: tokens.access_token });
    expect(await client.closed()).toBe('io server disconnect');
    expect(client.received).toEqual([{ event: 'session.ended', data: { reason: 'signed_out' } }]);
  });

  it('ends with its transport when the client leaves the namespace', async () => {
    const client = await connect(await channel.signIn());
    const { engine } = client.socket.io;
    const closed = new Promise((resolve) => engine.once('close', resolve));
    engine.write('1'); // a DISCONNECT of Socket.IO, below its client
    await closed;
  });

  it('receives a warning of its expiry after `ready`, even if the database is slow', async () => {
    const tokens = await channel.signIn();
    setClock(expiryOf(tokens) - 30_000);
    const holder = new Client(channel.service.databaseUrl);
    await holder.connect();
    try {
      await holder.query('BEGIN; LOCK TABLE channels');
      const client = open({ token: tokens.access_token });
      expect(await waiting(channel.service.databaseUrl, 1, client.closed())).toBe(true);
      await Promise.race([client.next('token.expiring'), delay(TWO_TICKS_MS)]);
      await holder.query('COMMIT');
      await client.next('token.expiring');
      expect(client.received.map(({ event }) => event)).toEqual(['ready', 'token.expiring']);
    } finally {
      await holder.end();
    }
  });

  it('ends at expiry, at most a second late, with nothing delivered after it', async () => {
    const tokens = await channel.signIn();
    const client = await connect(tokens);
    const expiry = expiryOf(tokens);
    setClock(expiry - 60_000);
    expect((await client.next('token.expiring')).data).toEqual({ expires_at: rfc3339(expiry) });
    setClock(expiry);
    const [began, lateness] = [performance.now(), watchLateness()];
    await channel.push({ user_id: tokens.user_id, event: 'late' }).expect(202);
    expect(await client.closed()).toBe('io server disconnect');
    expect(performance.now() - began).toBeLessThan(1000 + 10 * lateness());
    expect(client.received.map(({ event }) => event)).toEqual(['ready', 'token.expiring', 'session.ended']);
    expect(client.received.at(-1)!.data).toEqual({ reason: 'expired' });
  });

  it('continues with a new token of the session', async () => {
    const tokens = await channel.signIn();
    const client = await connect(tokens);
    setClock(expiryOf(tokens) - 1000);
    const fresh = await refresh(tokens);
    const ack: unknown = await client.socket.emitWithAck('authenticate', { token: fresh.access_token });
    expect(ack).toEqual({ expires_at: rfc3339(expiryOf(fresh)) });
    setClock(expiryOf(tokens) + 1000);
    await delay(TWO_TICKS_MS);
    expect(client.socket.connected).toBe(true);
  });

  it('receives another warning 5 s after a renewal with the same token', async () => {
    const tokens = await channel.signIn();
    const client = await connect(tokens);
    const warnings = () => client.of('token.expiring').length;
    setClock(expiryOf(tokens) - 50_000);
    const { data } = await client.next('token.expiring');
    expect(await client.socket.emitWithAck('authenticate', { token: tokens.access_token })).toEqual(data);
    await delay(TWO_TICKS_MS);
    expect(warnings()).toBe(1);
    setClock(expiryOf(tokens) - 44_000);
    await client.until(() => warnings() === 2);
    expect(client.received.at(-1)).toEqual({ event: 'token.expiring', data });
  });

  it('rejects a token of another session, or none, and stays open', async () => {
    const user = randomUUID();
    const [own, other] = [await channel.signIn(user), await channel.signIn(user)];
    const client = await connect(own);
    for (const body of [{ token: other.access_token }, { token: 'x' }, {}, undefined, own.access_token]) {
      const ack: unknown = await client.socket.emitWithAck('authenticate', body);
      expect(ack).toEqual({ error: 'invalid_token', error_description: expect.any(String) });
    }
    expect(client.socket.connected).toBe(true);
  });

  it('does not end sooner with a token that expires sooner', async () => {
    const tokens = await channel.signIn();
    setClock(expiryOf(tokens) - 600_000);
    const newer = await refresh(tokens);
    const expires_at = rfc3339(expiryOf(newer));
    for (const [first, ...others] of [
      [newer, tokens, newer],
      [tokens, newer, tokens],
    ] as const) {
      const client = await connect(first);
      for (const { access_token: token } of others)
        expect(await client.socket.emitWithAck('authenticate', { token })).toEqual({ expires_at });
    }
  });

  it('announces a shutdown, and a standard client reconnects', async () => {
    const stopping = await channel.another();
    const client = await connect(await signIn(stopping.url), { reconnection: true }, stopping);
    await stopping.close();
    expect(await client.closed()).toBe('transport close');
    expect(client.received.at(-1)).toEqual({ event: 'session.ended', data: { reason: 'shutdown' } });
    expect(client.socket.active).toBe(true);
  });

  it('accepts 50 messages at once, and ends after more; a standard client reconnects', async () => {
    const client = await connect(await channel.signIn(), { reconnection: true, reconnectionDelay: 10 });
    const flood = (): void => {
      for (let i = 0; i < 45; i++) client.socket.emit('noise', i);
    };
    flood();
    expect(await client.socket.emitWithAck('authenticate', {})).toMatchObject({ error: 'invalid_token' });
    flood();
    expect(await client.closed()).toBe('transport close');
    expect(client.received.at(-1)).toEqual({ event: 'session.ended', data: { reason: 'overloaded' } });
    await client.until(() => client.of('ready').length === 2);
  });

  it('is one of 20 of its user at most; the next is refused with slow_down', async () => {
    const tokens = await channel.signIn();
    const [first] = await Promise.all(Array.from({ length: 20 }, () => connect(tokens)));
    expect(await open({ token: tokens.access_token }).refusal()).toMatchObject({ error: 'slow_down' });
    const closed = once(channel.service.app.get(Events), 'socket.closed');
    first!.close();
    await closed;
    await connect(tokens);
  });

  it('drops the request that it began with, after the listeners of `connection`', async () => {
    const opened: { socket: Socket; had: boolean }[] = [];
    const registry = channel.service.app.get(ConnectionRegistry);
    const register = registry.open.bind(registry);
    jest.spyOn(registry, 'open').mockImplementation((socket, admitted) => {
      opened.push({ socket, had: socket.request.url !== undefined });
      register(socket, admitted);
    });
    await connect(await channel.signIn(), { extraHeaders: { 'x-app': 'mine' } });
    const [{ socket, had }] = opened as [(typeof opened)[0]];
    expect([had, socket.request]).toEqual([true, undefined]);
    expect(socket.handshake.headers['x-app']).toBe('mine');
  });

  it('makes its user and device online', async () => {
    const [user, one, two] = [randomUUID(), randomUUID(), randomUUID()];
    const tokens = await channel.signIn(user, { device_id: one });
    await channel.signIn(user, { device_id: two });
    const isOnline = async (device_id?: string) => {
      const { body } = await channel
        .push({ user_id: tokens.user_id, event: 'x', ttl: 0, device_id })
        .expect(202);
      return (body as { online: boolean }).online;
    };
    expect(await isOnline()).toBe(false);
    const client = await connect(tokens);
    expect([await isOnline(), await isOnline(one), await isOnline(two)]).toEqual([true, true, false]);
    const began = performance.now();
    const listed = async () => {
      const { body } = await bearer(channel.url, tokens.access_token).get('/devices').expect(200);
      const { devices } = body as { devices: { device_id: string; online: boolean }[] };
      return Object.fromEntries(devices.map(({ device_id, online }) => [device_id, online]));
    };
    while (!(await listed())[one]) expect(performance.now() - began).toBeLessThan(5000);
    expect(await listed()).toEqual({ [one]: true, [two]: false });
    client.close();
    while (await isOnline()) expect(performance.now() - began).toBeLessThan(10_000);
  });
});

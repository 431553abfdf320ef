import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Events } from '../../src/events.js';
import { Admission } from '../../src/realtime/admission/admission.js';
import { AccessTokenVerifier } from '../../src/token/access-tokens/access-token.verifier.js';
import { KeyStore } from '../../src/token/keys/key.store.js';
import { bearer, signIn, type Tokens } from '../support/sign-in.js';
import { createDatabase, type TestDatabase, query } from '../support/database.js';
import { startTestService, type TestService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { StubProvider } from '../support/stub-provider.js';
import { TcpProxy } from '../support/tcp-proxy.js';

/** What is added to the second of the contract: a refresh, and the closing itself. */
const ALLOWANCE_MS = 300;

/** By how many milliseconds timers are late on this machine at this moment. */
async function lateTimer(ms: number): Promise<number> {
  const began = performance.now();
  await delay(ms);
  return performance.now() - began - ms;
}

const REVOKED = { event: 'session.ended', data: { reason: 'revoked' } };

/** A withdrawn key ends the sockets whose token it signed, on every instance within a second (contract §5, §7). */
describe('sockets of a revoked key', () => {
  let provider: StubProvider;
  let database: TestDatabase;
  let proxy: TcpProxy;
  let [a, b] = [] as unknown as [TestService, TestService];
  let store: KeyStore;
  let tokens: Tokens;
  const clients: SocketClient[] = [];

  beforeAll(async () => {
    provider = await StubProvider.start();
  });
  afterAll(() => provider?.close());
  beforeEach(async () => {
    database = await createDatabase();
    proxy = await TcpProxy.before(database.url);
    const throughProxy = new URL(database.url);
    throughProxy.port = String(proxy.port);
    const env = { ...provider.env(), PUBLIC_URL: 'http://localhost:9' };
    [a, b] = await Promise.all([
      startTestService({ ...env, DATABASE_URL: database.url }),
      startTestService({ ...env, DATABASE_URL: throughProxy.href }),
    ]);
    store = a.app.get(KeyStore);
    tokens = await signIn(a.url);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    clients.splice(0).forEach((client) => client.close());
    await proxy.restore();
    await Promise.all([a, b].map((instance) => instance?.close()));
    await proxy.refuse();
    await database.drop();
  });

  async function connect({ url }: TestService, token: string): Promise<SocketClient> {
    const client = await SocketClient.connect(url, token, { reconnection: true });
    clients.push(client);
    return client;
  }
  const kidOf = (token: string): string =>
    (JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()) as { kid: string }).kid;
  async function refresh({ url }: TestService): Promise<string> {
    const { refresh_token } = tokens;
    const { body } = await bearer(url, '').post('/oauth2/refresh', { refresh_token }).expect(200);
    return (body as Tokens).access_token;
  }
  /** Another key signs from now on; returns a token of it. */
  async function tokenOfNextKey(): Promise<string> {
    const old = kidOf(tokens.access_token);
    const { kid } = await store.rotate();
    await query(database.url, 'UPDATE signing_keys SET active_at = now() WHERE kid = $1', [kid]);
    for (;;) {
      const token = await refresh(a);
      const known = await bearer(b.url, token).get('/me');
      if (kidOf(token) !== old && known.status === 200) return token;
    }
  }
  const heard = (instance: TestService): Promise<unknown> =>
    new Promise((resolve) => instance.app.get(Events).once('key.revoked', resolve));

  it('are told so and closed, everywhere; standard clients reconnect, and a fresh token is let in at once', async () => {
    const sockets = [await connect(a, tokens.access_token), await connect(b, tokens.access_token)];
    const lateness = lateTimer(1000);
    const began = performance.now();
    await store.revoke(kidOf(tokens.access_token));
    await Promise.all(
      sockets.map(async (socket) => {
        expect(await socket.closed()).toBe('transport close');
        expect(socket.received.at(-1)).toEqual(REVOKED);
        expect(socket.socket.active).toBe(true);
        socket.socket.auth = { token: await refresh(b) }; // as soon as it is told
      }),
    );
    const took = performance.now() - began;
    const late = await lateness;
    expect(took).toBeLessThan(1000 + ALLOWANCE_MS + 10 * late);
    for (const socket of sockets) {
      await socket.until(() => socket.of('ready').length === 2);
      expect(socket.of('session.ended')).toHaveLength(1);
    }
  });

  it('are closed also by an instance that started while the key was being withdrawn, before it was', async () => {
    const kid = kidOf(tokens.access_token);
    const [starting, env] = [[] as TestService[], { ...provider.env(), PUBLIC_URL: 'http://localhost:9' }];
    await store.revoke(kid);
    try {
      // The moment that is left, longer; still longer where the machine needs more than that to start.
      for (let [seconds, socket] = [3, undefined as SocketClient | undefined]; !socket; seconds *= 2) {
        const at = `UPDATE signing_keys SET revoked_at = clock_timestamp() + $2 * interval '1 second' WHERE kid = $1`;
        await query(database.url, at, [kid, seconds]);
        const instance = await startTestService({ ...env, DATABASE_URL: database.url });
        starting.push(instance);
        if ((await bearer(instance.url, tokens.access_token).get('/me')).status !== 200) continue;
        socket = await connect(instance, tokens.access_token).catch(() => undefined);
        await socket?.closed();
        if (socket) expect(socket.received.at(-1)).toEqual(REVOKED);
      }
    } finally {
      await Promise.all(starting.map((instance) => instance.close()));
    }
  });

  it('are closed; those that were opened with another key, or renewed by one, stay', async () => {
    const [first, renewed, there] = [
      await connect(a, tokens.access_token),
      await connect(a, tokens.access_token),
      await connect(b, tokens.access_token),
    ];
    const next = await tokenOfNextKey();
    const other = await connect(b, next);
    expect(await renewed.socket.emitWithAck('authenticate', { token: next })).toMatchObject({
      expires_at: expect.any(String),
    });
    await store.revoke(kidOf(tokens.access_token));
    for (const socket of [first, there]) {
      await socket.closed();
      expect(socket.received.at(-1)).toEqual(REVOKED);
    }
    for (const socket of [renewed, other]) {
      expect(await socket.socket.emitWithAck('authenticate', {})).toMatchObject({ error: 'invalid_token' });
      expect(socket.disconnects).toEqual([]);
    }
    // And the other way round: only the current token counts.
    await store.revoke(kidOf(next));
    await Promise.all([renewed.closed(), other.closed()]);
    expect(renewed.received.at(-1)).toEqual(REVOKED);
  });

  it('are closed by an instance that was cut off from the database, once it is back', async () => {
    const [here, there] = [await connect(a, tokens.access_token), await connect(b, tokens.access_token)];
    await proxy.refuse();
    await store.revoke(kidOf(tokens.access_token));
    await here.closed();
    expect(there.disconnects).toEqual([]);
    await proxy.restore();
    await there.closed();
    expect(there.received.at(-1)).toEqual(REVOKED);
  });

  it('do not open when the key was withdrawn while they were being admitted', async () => {
    const handshake = a.app.get(Admission);
    const admit = handshake.admit.bind(handshake);
    jest.spyOn(handshake, 'admit').mockImplementationOnce(async (...args) => {
      const admission = await admit(...args);
      const isHeard = heard(a);
      await store.revoke(admission.kid);
      await isHeard;
      return admission;
    });
    const client = SocketClient.open(a.url, { token: tokens.access_token });
    clients.push(client);
    await client.closed();
    expect(client.received).toEqual([REVOKED]);
  });

  it('are not saved by a renewal that was on its way', async () => {
    const client = await connect(a, await tokenOfNextKey());
    const verifier = a.app.get(AccessTokenVerifier);
    const find = verifier.find.bind(verifier);
    const late = await refresh(a);
    jest.spyOn(verifier, 'find').mockImplementationOnce(async (token) => {
      const verified = await find(token);
      a.app.get(Events).emit('key.revoked', { kid: 'of the renewal' });
      return { ...verified!, kid: 'of the renewal' };
    });
    client.socket.emit('authenticate', { token: late });
    await client.closed();
    expect(client.received.at(-1)).toEqual(REVOKED);
  });
});

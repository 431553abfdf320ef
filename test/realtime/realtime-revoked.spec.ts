import { once } from 'node:events';
import { jest } from '@jest/globals';
import { Events } from '../../src/platform/events.js';
import { HandshakeQueue } from '../../src/realtime/handshakes/handshake-queue.js';
import { AccessTokenVerifier } from '../../src/token/access-tokens/access-token.verifier.js';
import { KeyStore } from '../../src/token/keys/key.store.js';
import { bearer, signIn, type Tokens } from '../support/sign-in.js';
import { createDatabase, type TestDatabase, query } from '../support/database.js';
import { startTestService, type TestService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { StubProvider } from '../support/stub-provider.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until, watchLateness } from '../support/waiting.js';

/** Added to the second in which sockets close. */
const CLOSING_MS = 300;
const REVOKED = { event: 'session.ended', data: { reason: 'revoked' } };

/**
 * A revoked key ends the sockets with its tokens, on every instance within a second
 * (docs/realtime.md#what-the-service-sends).
 */
describe('sockets of a revoked key', () => {
  let provider: StubProvider;
  let database: TestDatabase;
  let proxy: TcpProxy;
  /** The second one reaches the database through the proxy. */
  let [a, b] = [] as unknown as [TestService, TestService];
  let store: KeyStore;
  let tokens: Tokens;
  const clients: SocketClient[] = [];
  const start = (DATABASE_URL: string): Promise<TestService> =>
    startTestService({ ...provider.env(), PUBLIC_URL: 'http://localhost:9', DATABASE_URL });

  beforeAll(async () => {
    provider = await StubProvider.start();
    database = await createDatabase();
    proxy = await TcpProxy.before(database.url);
    const throughProxy = new URL(database.url);
    throughProxy.port = String(proxy.port);
    [a, b] = await Promise.all([start(database.url), start(throughProxy.href)]);
    store = a.app.get(KeyStore);
  });
  beforeEach(async () => {
    tokens = await signIn(a.url);
    await until(() => isValid(b, tokens.access_token));
  });
  afterEach(() => {
    jest.restoreAllMocks();
    clients.splice(0).forEach((client) => client.close());
  });
  afterAll(async () => {
    await proxy?.restore();
    await Promise.all([a, b].map((instance) => instance?.close()));
    await proxy?.refuse();
    await database?.close();
    await provider?.close();
  });

  async function connect({ url }: TestService, token: string): Promise<SocketClient> {
    const client = await SocketClient.connect(url, token, { reconnection: true, reconnectionDelay: 10 });
    clients.push(client);
    return client;
  }
  const isValid = async ({ url }: TestService, token: string): Promise<boolean> =>
    (await bearer(url, token).get('/me')).status === 200;
  const kidOf = (token: string): string =>
    (JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()) as { kid: string }).kid;
  async function refresh({ url }: TestService): Promise<string> {
    const { refresh_token } = tokens;
    const { body } = await bearer(url, '').post('/oauth2/refresh', { refresh_token }).expect(200);
    return (body as Tokens).access_token;
  }
  /** Makes another key the signing key. @returns a token that it signed */
  async function tokenOfNextKey(): Promise<string> {
    const old = kidOf(tokens.access_token);
    const { kid } = await store.rotate();
    await query(database.url, 'UPDATE signing_keys SET active_at = now() WHERE kid = $1', [kid]);
    for (;;) {
      const token = await refresh(a);
      if (kidOf(token) !== old && (await isValid(b, token))) return token;
    }
  }

  it('are closed on every instance; standard clients reconnect with a fresh token', async () => {
    const sockets = [await connect(a, tokens.access_token), await connect(b, tokens.access_token)];
    const [began, lateness] = [performance.now(), watchLateness()];
    const authenticate = async (done: (auth: object) => void) => done({ token: await refresh(b) });
    for (const { socket } of sockets) socket.auth = (done: (auth: object) => void) => void authenticate(done);
    await store.revoke(kidOf(tokens.access_token));
    await Promise.all(
      sockets.map(async (socket) => {
        expect(await socket.closed()).toBe('transport close');
        expect(socket.received.at(-1)).toEqual(REVOKED);
        expect(socket.socket.active).toBe(true);
      }),
    );
    expect(performance.now() - began).toBeLessThan(1000 + CLOSING_MS + 10 * lateness());
    for (const socket of sockets) {
      await socket.until(() => socket.of('ready').length === 2);
      expect(socket.of('session.ended')).toHaveLength(1);
    }
  });

  it('are closed by an instance that started just before the key was revoked', async () => {
    const kid = kidOf(tokens.access_token);
    const starting: TestService[] = [];
    await store.revoke(kid);
    try {
      // Longer if this machine starts an instance more slowly.
      for (let [seconds, socket] = [1, undefined as SocketClient | undefined]; !socket; seconds *= 2) {
        const at = `UPDATE signing_keys SET revoked_at = clock_timestamp() + $2 * interval '1 second' WHERE kid = $1`;
        await query(database.url, at, [kid, seconds]);
        const instance = await start(database.url);
        starting.push(instance);
        if (!(await isValid(instance, tokens.access_token))) continue;
        socket = await connect(instance, tokens.access_token).catch(() => undefined);
        await socket?.closed();
        if (socket) expect(socket.received.at(-1)).toEqual(REVOKED);
      }
    } finally {
      await Promise.all(starting.map((instance) => instance.close()));
    }
  });

  it('are closed; sockets that were opened or renewed with another key stay', async () => {
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
    // Only the present token counts.
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

  it('do not open if the key was revoked during their admission', async () => {
    const admission = a.app.get(HandshakeQueue);
    const admit = admission.admit.bind(admission);
    jest.spyOn(admission, 'admit').mockImplementationOnce(async (socket) => {
      const admitted = await admit(socket);
      const revoked = once(a.app.get(Events), 'key.revoked');
      await store.revoke(admitted.kid);
      await revoked;
      return admitted;
    });
    const client = SocketClient.open(a.url, { token: tokens.access_token });
    clients.push(client);
    await client.closed();
    expect(client.received).toEqual([REVOKED]);
  });

  it('are closed if the key was revoked during a renewal', async () => {
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

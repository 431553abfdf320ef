import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import type { Socket } from 'socket.io';
import { Events } from '../../src/events.js';
import { ConnectionRegistry } from '../../src/realtime/socket/connection-registry.js';
import { RealtimeService } from '../../src/realtime/push/realtime.service.js';
import { bearer } from '../support/bearer.js';
import { startTestService, type TestService } from '../support/service.js';
import { signIn, type Tokens } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { StubProvider } from '../support/stub-provider.js';

const SERVICE_KEY = 'a-service-key-of-thirty-two-characters';
const DEVICES = [randomUUID(), randomUUID()];

/** Events that are encoded once for all sockets of a user, whatever those are connected by (src/realtime/socket/outgoing.ts). */
describe('frames', () => {
  let provider: StubProvider;
  let service: TestService;
  const clients: SocketClient[] = [];

  beforeAll(async () => {
    provider = await StubProvider.start();
    service = await startTestService({ ...provider.env(), SERVICE_KEYS: SERVICE_KEY });
  });
  afterEach(() => clients.splice(0).forEach((client) => client.close()));
  afterAll(async () => {
    await service?.close();
    await provider?.close();
  });

  async function connect({ access_token }: Tokens, options = {}): Promise<SocketClient> {
    const client = await SocketClient.connect(service.url, access_token, options);
    clients.push(client);
    return client;
  }
  const push = (body: object) => bearer(service.url, SERVICE_KEY).post('/push', body);

  it('of every length reach stock clients over WebSockets and long polling, in order', async () => {
    const tokens = await signIn(service.url);
    const all = await Promise.all(
      [['websocket'], ['polling'], ['polling', 'websocket'], ['websocket']].map((transports) =>
        connect(tokens, { transports }),
      ),
    );
    const lengths = Array.from({ length: 200 }, (_, n) => n).concat([65_400, 65_535, 65_600, 200_000]);
    const sent = lengths.flatMap((length) => ['x'.repeat(length), '€'.repeat(length)]);
    const realtime = service.app.get(RealtimeService);
    const isKept = (data: string, n: number): boolean => n % 3 > 0 || data.length > 1000;
    for (const [n, data] of sent.entries()) {
      await realtime.push(tokens.user_id, 'n', data, { ttl: isKept(data, n) ? 60 : 0 });
    }
    const expected = sent.map((data, n) => [data, isKept(data, n)]);
    for (const client of all) {
      await client.until(() => client.history.length >= sent.length);
      expect(client.history.map(({ data, meta }) => [data, meta!.offset !== null])).toEqual(expected);
    }
  });

  it('of live events come after those that are read from the history, each once', async () => {
    const tokens = await signIn(service.url);
    const realtime = service.app.get(RealtimeService);
    const count = 400;
    for (let n = 0; n < count / 2; n++) await realtime.push(tokens.user_id, 'n', n);
    const pushing = (async () => {
      for (let n = count / 2; n < count; n++) await realtime.push(tokens.user_id, 'n', n);
    })();
    const all = await Promise.all(
      ['websocket', 'polling', 'websocket', 'websocket'].map((transport) =>
        connect(tokens, { transports: [transport], offset: 0 }),
      ),
    );
    await pushing;
    const expected = Array.from({ length: count }, (_, n) => [n, n + 1]);
    for (const client of all) {
      const events = () => client.of('n').map(({ data, meta }) => [data, meta!.offset]);
      await client.until(() => events().length >= count);
      expect(events()).toEqual(expected);
    }
  });

  it('of events that are not kept: pushes that come together are told apart, and share statements', async () => {
    const users = await Promise.all(
      [0, 1, 2].map((n) => signIn(service.url, randomUUID(), { device_id: DEVICES[n % 2] })),
    );
    const sockets = await Promise.all(users.map((user) => connect(user)));
    const shared: number[] = [];
    service.app
      .get(Events)
      .on('statement.shared', ({ name, calls }) => name === 'push-unkept' && shared.push(calls));
    const pushes = users.flatMap(({ user_id }, n) => [
      { body: { user_id, data: n }, status: 202 },
      { body: { user_id, data: n, device_id: DEVICES[n % 2] }, status: 202 },
      { body: { user_id, data: n, device_id: DEVICES[(n + 1) % 2] }, status: 404 },
      { body: { user_id: randomUUID(), data: n }, status: 404 },
    ]);
    const together = Array.from({ length: 20 }, () => pushes).flat();
    const answers = await Promise.all(together.map(({ body }) => push({ ...body, event: 'n', ttl: 0 })));
    expect(answers.map(({ status }) => status)).toEqual(together.map(({ status }) => status));
    for (const [n, socket] of sockets.entries()) {
      await socket.until(() => socket.of('n').length >= 40);
      expect(new Set(socket.of('n').map(({ data }) => data))).toEqual(new Set([n]));
      expect(socket.of('n')).toHaveLength(40);
    }
    expect(Math.max(...shared)).toBeGreaterThan(1);
    expect(shared.reduce((sum, calls) => sum + calls, 0)).toBe(together.length);
  });

  it('outlive the request that their socket began with: it takes memory no more, but listeners of `connection` had it', async () => {
    const opened: { socket: Socket; had: boolean }[] = [];
    const registry = service.app.get(ConnectionRegistry);
    const open = registry.open.bind(registry);
    jest.spyOn(registry, 'open').mockImplementation((socket, admission) => {
      opened.push({ socket, had: socket.request.url !== undefined });
      open(socket, admission);
    });
    const client = await connect(await signIn(service.url), { extraHeaders: { 'x-app': 'mine' } });
    jest.restoreAllMocks();
    const [{ socket, had }] = opened as [(typeof opened)[0]];
    expect([had, socket.request]).toEqual([true, undefined]);
    expect(socket.handshake.headers['x-app']).toBe('mine');
    expect(client.socket.connected).toBe(true);
  });
});

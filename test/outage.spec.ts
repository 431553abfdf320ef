import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import request from 'supertest';
import { createDatabase } from './support/database.js';
import { startTestService, type TestService } from './support/service.js';
import { beginSignIn, signIn } from './support/sign-in.js';
import { StubProvider } from './support/stub-provider.js';

/** A TCP proxy before the database: passes, refuses, or swallows everything. */
class Proxy {
  private readonly sockets = new Set<Socket>();
  private swallow = false;

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  static async before(target: URL): Promise<Proxy> {
    const server = createServer((client) => {
      const upstream = connect(Number(target.port), target.hostname);
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        proxy.sockets.add(from);
        from.on('data', (chunk) => proxy.swallow || to.write(chunk));
        from.on('error', () => undefined);
        from.on('close', () => to.destroy());
      }
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const proxy = new Proxy(server, (server.address() as AddressInfo).port);
    return proxy;
  }

  /** Connections stay open, and nothing comes through. */
  freeze(): void {
    this.swallow = true;
  }

  /** Connections are reset, and new ones refused. */
  async refuse(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  async restore(): Promise<void> {
    this.swallow = false;
    for (const socket of this.sockets) socket.destroy();
    if (!this.server.listening)
      await new Promise<void>((resolve) => this.server.listen(this.port, '127.0.0.1', resolve));
  }
}

/** P10: an error within 2 s, and everything by itself afterwards. */
describe('a database outage', () => {
  let provider: StubProvider;
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let proxy: Proxy;
  let service: TestService;

  beforeAll(async () => {
    provider = await StubProvider.start();
    database = await createDatabase();
    proxy = await Proxy.before(new URL(database.url));
    const behind = new URL(database.url);
    behind.port = String(proxy.port);
    service = await startTestService({ ...provider.env(), DATABASE_URL: behind.href });
  });
  afterAll(async () => {
    await service?.close();
    await proxy?.refuse();
    await database?.drop();
    await provider?.close();
  });

  it.each([
    ['refuses connections', () => proxy.refuse()],
    ['hangs', async () => proxy.freeze()],
  ])('when it %s', async (_name, begin) => {
    const { refresh_token } = await signIn(service.url);
    const state = await beginSignIn(service.url);
    await begin();

    const calls = [
      request(service.url).get('/oauth2/authorize').query({ provider: 'stub' }),
      request(service.url).post('/oauth2/token').send({ code: 'c', state }),
      ...Array.from({ length: 30 }, () =>
        request(service.url).post('/oauth2/refresh').send({ refresh_token }),
      ),
    ];
    const began = performance.now();
    const answers = await Promise.all(calls);
    expect(performance.now() - began).toBeLessThan(2500); // 2 s, and what 32 requests need on a busy machine
    for (const { status, body, headers } of answers) {
      expect([status, body]).toEqual([
        500,
        { error: 'server_error', error_description: 'the database is unavailable' },
      ]);
      expect(headers['retry-after']).toBe('1');
    }
    await request(service.url).get('/health/ready').expect(503);
    await request(service.url).get('/health/live').expect(200);
    await request(service.url).get('/.well-known/jwks.json').expect(200);

    await proxy.restore();
    await expect(firstSuccess(refresh_token)).resolves.toBeLessThan(3000);
    await request(service.url).get('/health/ready').expect(200);
    await signIn(service.url);
  });

  /** Milliseconds until a refresh succeeds. */
  async function firstSuccess(refresh_token: string): Promise<number> {
    const began = performance.now();
    for (;;) {
      const { status } = await request(service.url).post('/oauth2/refresh').send({ refresh_token });
      if (status === 200) return performance.now() - began;
    }
  }
});

import { randomUUID } from 'node:crypto';
import { connect as connectTcp } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { bearer, claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { Cluster, type Pushed } from '../support/cluster.js';
import { Crowd } from '../support/crowd.js';
import { needs } from '../support/installed.js';
import { query } from '../support/database.js';
import { hasRedis, RedisServer } from '../support/redis-server.js';
import type { ServiceProcess } from '../support/service-process.js';
import { Ended, SocketClient } from '../support/socket-client.js';
import { TcpProxy } from '../support/tcp-proxy.js';

const ANSWER_OF_PUBLISH = /^:\d+\r\n/;
const SOCKETS_A_SESSION = 10;
const SESSIONS = 8;
/** Sessions that expire; they must be open before they do. */
const EXPIRING = 5;
const LIFE = 8;
const USERS = 12;
const PUSHES_A_USER = 20;
/** How many times the duration of similar work on this machine is added to the limits. */
const LENIENCY = 5;

/** Three instances with one database and one Redis, which the third reaches through a proxy (P8 and P9 of security.md). */
needs({ 'redis-server': hasRedis }).describe('several instances', () => {
  let redis: RedisServer;
  let proxy: TcpProxy;
  let cluster: Cluster;
  let [a, b, c] = [] as unknown as [ServiceProcess, ServiceProcess, ServiceProcess];
  const clients: SocketClient[] = [];

  beforeAll(async () => {
    redis = await RedisServer.start();
    proxy = await TcpProxy.before(redis.url);
    cluster = await Cluster.create();
    const urls = [redis.url, redis.url, `redis://127.0.0.1:${proxy.port}`];
    [a, b, c] = (await Promise.all(urls.map((REDIS_URL) => cluster.start({ REDIS_URL })))) as [
      ServiceProcess,
      ServiceProcess,
      ServiceProcess,
    ];
    await untilRedisIs('up', [a, b, c]);
  });
  afterEach(() => clients.splice(0).forEach((client) => client.close()));
  afterAll(async () => {
    const output = cluster?.instances.map((instance) => instance.output()).join('');
    await cluster?.close();
    await proxy?.refuse();
    await redis?.kill();
    expect(output).not.toMatch(/uncaught|unhandled/i);
  });

  async function connect({ url }: ServiceProcess, { access_token }: Tokens, offset?: number) {
    for (;;) {
      try {
        const client = await SocketClient.connect(url, access_token, offset === undefined ? {} : { offset });
        clients.push(client);
        return client;
      } catch (error) {
        // A busy machine may answer too late; a client comes back then.
        const isLate = (error as { data?: { error?: string } }).data?.error === 'server_error';
        if (!isLate && !(error instanceof Ended)) throw error;
      }
    }
  }
  const offsets = (client: SocketClient) => client.history.map(({ meta }) => meta!.offset);
  const events = (client: SocketClient) => client.history.map(({ event }) => event);
  async function eventually(holds: () => Promise<boolean>): Promise<void> {
    while (!(await holds())) await delay(20);
  }
  const push = (instance: ServiceProcess, { user_id }: Tokens, event: string, more: object = {}) =>
    cluster.push(instance, { user_id, event, ...more });
  /** Pushes until it is accepted: a busy machine's database, or Redis, may answer too late, and then nothing was written. */
  async function accepted(...call: Parameters<typeof push>): Promise<Pushed['body']> {
    for (;;) {
      const { status, body } = await push(...call);
      if (status === 202) return body;
      expect(status).toBe(500);
      await delay(20);
    }
  }
  async function stored({ user_id }: Tokens): Promise<number> {
    const text = 'SELECT count(*)::int AS n FROM channel_events WHERE user_id = $1';
    const [row] = await query<{ n: number }>(cluster.database.url, text, [user_id]);
    return row!.n;
  }
  async function untilRedisIs(state: 'up' | 'down', instances: ServiceProcess[]): Promise<void> {
    for (const instance of instances) {
      await eventually(async () => {
        const [status, body] = await cluster.readiness(instance);
        expect(status).toBe(200);
        return (body as { redis: string }).redis === state;
      });
    }
  }

  it('an event that is not kept comes once to every socket, on any instance', async () => {
    const tokens = await signIn(a.url);
    const sockets = [await connect(a, tokens), await connect(b, tokens), await connect(c, tokens)];
    const ids: unknown[] = [];
    for (const instance of [a, b, c]) ids.push((await accepted(instance, tokens, 'now', { ttl: 0 })).id);
    // What one instance sends stays in order.
    for (const instance of [a, b, c]) await accepted(instance, tokens, 'end', { ttl: 0 });
    for (const socket of sockets) {
      await socket.until(() => socket.of('end').length === 3);
      const got = socket.of('now').map(({ meta }) => meta!.id);
      expect([got.length, new Set(got)]).toEqual([ids.length, new Set(ids)]);
    }
  });

  describe('the life of a session (P8)', () => {
    /** Sockets of some sessions, on all instances in turn. */
    async function open(sessions: readonly Tokens[]): Promise<SocketClient[][]> {
      return Promise.all(
        sessions.map((session) =>
          Promise.all(
            Array.from({ length: SOCKETS_A_SESSION }, (_, i) => connect([a, b, c][i % 3]!, session)),
          ),
        ),
      );
    }
    const signInAll = (url: string, count: number) =>
      Promise.all(Array.from({ length: count }, () => signIn(url, randomUUID())));
    /** How long this machine needs at this moment to do something with each session and to notify all its sockets. */
    async function pace(sessions: readonly Tokens[], sockets: SocketClient[][]): Promise<number> {
      const began = performance.now();
      await Promise.all(
        sessions.map(async (session, i) => {
          await accepted([a, b, c][i % 3]!, session, 'pace');
          await Promise.all(sockets[i]!.map((socket) => socket.next('pace')));
        }),
      );
      return performance.now() - began;
    }
    /** Fails when one was closed more than a second late. */
    function expectInTime(late: readonly number[], needed: number): void {
      const latest = Math.max(...late);
      expect(latest).toBeLessThan(1000 + LENIENCY * needed);
    }

    it(`${SESSIONS * SOCKETS_A_SESSION} sockets are closed within a second of sign-out, on every instance`, async () => {
      const sessions = await signInAll(a.url, SESSIONS);
      const sockets = await open(sessions);
      const stays = await connect(b, await signIn(a.url));
      const needed = await pace(sessions, sockets);
      const late: number[] = [];
      await Promise.all(
        sessions.map(async ({ access_token }, i) => {
          await bearer([a, b, c][i % 3]!.url, access_token)
            .post('/sign-out')
            .expect(204);
          const signedOut = performance.now();
          await Promise.all(
            sockets[i]!.map(async (socket) => {
              expect(await socket.closed()).toBe('io server disconnect');
              late.push(performance.now() - signedOut);
              expect(socket.received.at(-1)!.data).toEqual({ reason: 'signed_out' });
            }),
          );
        }),
      );
      expect(late).toHaveLength(SESSIONS * SOCKETS_A_SESSION);
      expectInTime(late, needed);
      expect(stays.socket.connected).toBe(true);
    });

    it(`${EXPIRING * SOCKETS_A_SESSION} sockets are closed at expiry, at most a second late, on every instance`, async () => {
      const brief = await cluster.start({ REDIS_URL: redis.url, ACCESS_TOKEN_TTL: String(LIFE) });
      const sessions = await signInAll(brief.url, EXPIRING);
      const sockets = await open(sessions);
      const needed = await pace(sessions, sockets);
      const late: number[] = [];
      await Promise.all(
        sessions.map(async ({ access_token }, i) => {
          const expiry = (claimsOf(access_token)['exp'] as number) * 1000;
          await Promise.all(
            sockets[i]!.map(async (socket) => {
              expect(socket.disconnects).toEqual([]);
              expect(await socket.closed()).toBe('io server disconnect');
              late.push(Date.now() - expiry);
              expect(socket.received.at(-1)!.data).toEqual({ reason: 'expired' });
            }),
          );
        }),
      );
      await brief.end('SIGTERM');
      expect(late).toHaveLength(EXPIRING * SOCKETS_A_SESSION);
      expect(Math.min(...late)).toBeGreaterThanOrEqual(-50); // two clocks of one machine, asked one after the other
      expectInTime(late, needed);
    });
  });

  it(`${USERS * PUSHES_A_USER} pushes through all instances reach ${USERS} users who come and go: none foreign, double or lost (P9)`, async () => {
    const crowd = await Crowd.gather({
      instances: [a, b, c],
      users: USERS,
      databaseUrl: cluster.database.url,
      push: (instance, body) => cluster.push(instance, body),
    });
    await crowd.push(PUSHES_A_USER);
    await crowd.settle();
  });

  describe.each([
    ['killed', () => redis.kill(), () => redis.start()],
    ['frozen', async () => redis.freeze(), async () => redis.thaw()],
  ])('Redis %s', (_name, hurt, heal) => {
    let hurtNow = false;
    async function healOnce(): Promise<void> {
      if (hurtNow) await heal();
      hurtNow = false;
    }
    afterEach(async () => {
      await healOnce();
      await untilRedisIs('up', [a, b, c]);
    });

    it('push fails before it writes; everything else goes on, and push recovers by itself', async () => {
      const device_id = randomUUID();
      const tokens = await signIn(a.url, randomUUID(), { device_id });
      const [here, there] = [await connect(a, tokens), await connect(c, tokens)];
      const before = await stored(tokens);
      const asked = performance.now();
      await connect(b, await signIn(b.url));
      const needed = performance.now() - asked; // by this machine, for a few requests and a socket
      hurtNow = true;
      await hurt();

      await untilRedisIs('down', [a, b, c]);
      for (const instance of [a, b, c]) {
        const { status, body } = await push(instance, tokens, 'lost');
        expect([status, body.error]).toEqual([500, 'server_error']);
      }
      expect(await stored(tokens)).toBe(before);

      const rename = { device_name: 'while Redis was away' };
      await bearer(a.url, tokens.access_token).patch(`/devices/${device_id}`, rename).expect(200);
      await here.next('device.renamed'); // local delivery continues

      const began = performance.now();
      const late = await connect(b, tokens, before); // and so does connecting
      await late.next('device.renamed');
      expect(performance.now() - began).toBeLessThan(3000 + LENIENCY * needed);

      const other = await signIn(a.url);
      const leaving = await connect(c, other);
      await bearer(a.url, other.access_token).post('/sign-out').expect(204);
      const signedOut = performance.now();
      await leaving.closed();
      expect(performance.now() - signedOut).toBeLessThan(1000 + LENIENCY * needed);

      await healOnce();
      await accepted(b, tokens, 'after');
      await Promise.all([here, there, late].map((client) => client.next('after')));
      for (const client of [here, there, late]) {
        expect(events(client)).toEqual(['device.renamed', 'after']);
        expect(offsets(client)).toEqual([before + 1, before + 2]);
      }
    });
  });

  describe.each([
    ['refuses connections', () => proxy.refuse()],
    ['hangs', async () => proxy.blackhole()],
  ])('one instance is cut off: its way to Redis %s', (_name, cut) => {
    afterEach(async () => {
      await proxy.restore();
      await untilRedisIs('up', [c]);
    });

    it('events of that time arrive in order, each once, in both directions', async () => {
      const device_id = randomUUID();
      const tokens = await signIn(a.url, randomUUID(), { device_id });
      const [near, far] = [await connect(a, tokens), await connect(c, tokens)];
      await cut();
      await untilRedisIs('down', [c]);

      await accepted(a, tokens, 'one');
      const two = await accepted(b, tokens, 'two');
      await near.next('two');
      expect((await push(c, tokens, 'lost')).status).toBe(500);
      expect(events(far)).toEqual(['one', 'two'].slice(0, events(far).length)); // none, but for what a sweep has found (every 15 s)

      // A client that already has the events moves to an instance that does not know of them.
      const moved = await connect(c, tokens, two.offset!);
      const rename = { device_name: 'unheard of' };
      await bearer(c.url, tokens.access_token).patch(`/devices/${device_id}`, rename).expect(200);
      await far.next('device.renamed');

      await proxy.restore();
      await near.next('device.renamed');
      expect(events(near)).toEqual(['one', 'two', 'device.renamed']);
      expect(events(far)).toEqual(['one', 'two', 'device.renamed']);
      await accepted(c, tokens, 'last');
      await Promise.all([near, far, moved].map((client) => client.next('last')));
      expect(events(moved)).toEqual(['device.renamed', 'last']);
      expect(offsets(far)).toEqual([2, 3, 4, 5]);
    });
  });

  it('a connection to Redis that is lost before the answer: an event that is not kept comes once at most', async () => {
    const tokens = await signIn(a.url);
    const client = await connect(a, tokens);
    await accepted(c, tokens, 'before', { ttl: 0 });
    await client.next('before');
    let isLost = false;
    proxy.toClient.drops = (chunk) => {
      const drops = ANSWER_OF_PUBLISH.test(chunk.toString());
      isLost ||= drops;
      return drops;
    };
    expect((await push(c, tokens, 'once', { ttl: 0 })).status).toBe(202);
    await eventually(async () => isLost);
    await proxy.restore(); // which cuts that connection
    await accepted(c, tokens, 'after', { ttl: 0 });
    await client.next('after');
    expect(client.of('once')).toHaveLength(1);
    await untilRedisIs('up', [c]);
  });

  it('messages that Redis lost are found with the next one, in order', async () => {
    const tokens = await signIn(a.url);
    const far = await connect(c, tokens);
    proxy.toClient.drops = (chunk) => chunk.includes(`latchkey:user:${tokens.user_id}`);
    for (const instance of [a, b, a]) await accepted(instance, tokens, 'lost');
    proxy.toClient.drops = () => false;
    expect(events(far)).toEqual([]);
    await accepted(b, tokens, 'found');
    await far.next('found');
    expect(events(far)).toEqual(['lost', 'lost', 'lost', 'found']);
    expect(offsets(far)).toEqual([1, 2, 3, 4]);
  });

  it('subscriptions that Redis ended are renewed, and missed events arrive', async () => {
    const tokens = await signIn(a.url);
    const sockets = [await connect(a, tokens), await connect(b, tokens), await connect(c, tokens)];
    for (let round = 1; round <= 3; round++) {
      await tellRedis('CLIENT KILL TYPE pubsub');
      // Refused while the new connection has not been tried: then nothing was written.
      await accepted(a, tokens, `round-${round}`);
      await Promise.all(sockets.map((client) => client.next(`round-${round}`)));
    }
    for (const client of sockets) expect(offsets(client)).toEqual([1, 2, 3]);
  });

  async function tellRedis(command: string): Promise<string> {
    const socket = connectTcp(Number(new URL(redis.url).port), '127.0.0.1');
    socket.write(`${command}\r\n`);
    const answer = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
    socket.destroy();
    return answer.toString();
  }

  it('an instance is subscribed to its own users only', async () => {
    const tokens = await signIn(a.url);
    const client = await connect(b, tokens);
    const subscribers = async () => {
      const answer = await tellRedis(`PUBSUB NUMSUB latchkey:user:${tokens.user_id}`);
      return Number(/:(\d+)\r\n$/.exec(answer)![1]);
    };
    expect(await subscribers()).toBe(1);
    client.close();
    await eventually(async () => (await subscribers()) === 0);
  });

  it('an instance that is killed: its users are offline within a minute, and miss nothing elsewhere', async () => {
    const doomed = await cluster.start({ REDIS_URL: redis.url });
    const tokens = await signIn(a.url);
    const first = await connect(doomed, tokens);
    const isOnline = async () => (await accepted(a, tokens, 'ping', { ttl: 0 })).online;
    await eventually(async () => (await isOnline()) === true);
    await accepted(b, tokens, 'one');
    await first.next('one');
    const [row] = await query<{ id: string }>(
      cluster.database.url,
      'SELECT instance_id AS id FROM presence WHERE user_id = $1',
      [tokens.user_id],
    );
    await doomed.end('SIGKILL');
    await first.closed();

    // A minute later: no sign of it since.
    await query(
      cluster.database.url,
      `UPDATE instances SET seen_at = seen_at - interval '50 s' WHERE instance_id = $1`,
      [row!.id],
    );
    expect(await isOnline()).toBe(false);
    for (const event of ['two', 'three']) await accepted(b, tokens, event);
    const second = await connect(c, tokens, offsets(first).at(-1)!);
    expect(second.of('ready')[0]!.data).toMatchObject({ offset: 1, recovered: true });
    await second.next('three');
    expect(events(second).filter((event) => event !== 'ping')).toEqual(['two', 'three']);
    await eventually(async () => (await isOnline()) === true);
  });
});

import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import request from 'supertest';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { freePort } from '../support/free-port.js';
import { needs } from '../support/installed.js';
import { hasRedis, RedisServer, SentinelServer } from '../support/redis-server.js';
import { startTestService, type TestService } from '../support/service.js';
import { signIn } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { until } from '../support/waiting.js';
import { StubProvider } from '../support/stub-provider.js';

const SERVICE_KEY = 'a-service-key-of-thirty-two-characters';
const PASSWORD = 'hunter2';
const LIMIT = 3;
const ENV = {
  PUBLIC_URL: 'http://latchkey.test',
  SERVICE_KEYS: SERVICE_KEY,
  RATE_LIMIT: 'on',
  RATE_LIMIT_REFRESH: String(LIMIT),
};
/** The rights in docs/database.md. */
const ALL_RIGHTS = /~latchkey:\* &latchkey:\* (?:\+\S+\s+)+/
  .exec(readFileSync(new URL('../../docs/database.md', import.meta.url), 'utf8'))![0]
  .trim()
  .split(/\s+/);

needs({ 'redis-server': hasRedis }).describe('a Redis that answers and is of no use', () => {
  let redis: RedisServer;
  let admin: Redis;
  let stub: StubProvider;
  let database: TestDatabase;
  const services: TestService[] = [];
  const sockets: SocketClient[] = [];

  beforeAll(async () => {
    [redis, stub, database] = await Promise.all([
      RedisServer.start(),
      StubProvider.start(),
      createDatabase(),
    ]);
    admin = new Redis(redis.url);
  });
  afterEach(async () => {
    sockets.splice(0).forEach((socket) => socket.close());
    for (const service of services.splice(0)) {
      await service.close();
      expect(service.log.join('')).not.toContain(PASSWORD);
    }
  });
  afterAll(async () => {
    admin?.disconnect();
    await redis?.kill();
    await database?.close();
    await stub?.close();
  });

  async function start(redisUrl: string): Promise<TestService> {
    const env = { ...ENV, ...stub.env(), DATABASE_URL: database.url, REDIS_URL: redisUrl };
    const service = await startTestService(env);
    services.push(service);
    return service;
  }
  /** An instance as a user of Redis who has these rights. */
  async function startAs(user: string, rights?: readonly string[]): Promise<TestService> {
    if (rights) await admin.acl('SETUSER', user, 'reset', 'on', `>${PASSWORD}`, ...rights);
    return start(redis.url.replace('//', `//${user}:${PASSWORD}@`));
  }
  async function connect({ url }: TestService, token: string): Promise<SocketClient> {
    const socket = await SocketClient.connect(url, token);
    sockets.push(socket);
    return socket;
  }
  async function redisOf({ url }: TestService): Promise<string> {
    const { status, body } = await request(url).get('/health/ready');
    expect(status).toBe(200);
    return (body as { redis: string }).redis;
  }
  async function untilRedisIs(state: 'up' | 'down', ...instances: TestService[]): Promise<void> {
    for (const instance of instances) await until(async () => (await redisOf(instance)) === state);
  }
  const logged = ({ log }: TestService, level: string): string[] =>
    log
      .map((line) => JSON.parse(line) as { level: string; context: string; msg: string })
      .filter((line) => line.context === 'RedisConnection' && line.level === level)
      .map(({ msg }) => msg);
  const push = ({ url }: TestService, user_id: string, event: string): request.Test =>
    request(url).post('/push').set('Authorization', `Bearer ${SERVICE_KEY}`).send({ user_id, event });
  const refresh = async ({ url }: TestService): Promise<number> =>
    (await request(url).post('/oauth2/refresh').send({ refresh_token: 'unknown' })).status;

  it('with the rights that the documents name, everything is shared by all instances', async () => {
    const [a, b] = [await startAs('all', ALL_RIGHTS), await startAs('all')];
    await untilRedisIs('up', a, b);
    const { user_id, access_token } = await signIn(a.url);
    const both = [await connect(a, access_token), await connect(b, access_token)];
    await push(a, user_id, 'heard').expect(202);
    await Promise.all(both.map((socket) => socket.next('heard')));
    const statuses: number[] = [];
    for (let i = 0; i < LIMIT; i++) statuses.push(await refresh(a), await refresh(b));
    expect(statuses).toEqual([401, 401, 401, 429, 429, 429]);
    expect([...logged(a, 'warn'), ...logged(b, 'warn')]).toEqual([]);
    expect(await admin.acl('LOG')).toEqual([]); // nothing was refused
  });

  it.each([
    ['every right but to channels, as Redis 7 gives it', ['~*', '+@all', 'resetchannels']],
    ['no right at all', ['resetchannels']],
  ])(
    '%s: it counts as away, one line names the lacking right; granted, Redis is up',
    async (_name, given) => {
      const unstructured = jest.spyOn(console, 'warn');
      const [a, b] = [await startAs('app', given), await startAs('app')];
      await until(() => logged(a, 'warn').length > 0 && logged(b, 'warn').length > 0);
      expect([await redisOf(a), await redisOf(b)]).toEqual(['down', 'down']);
      const { user_id, access_token } = await signIn(a.url);
      const [here, there] = [await connect(a, access_token), await connect(b, access_token)];
      const { status, body, headers } = await push(a, user_id, 'unheard');
      expect([status, body.error, headers['retry-after']]).toEqual([500, 'server_error', '1']);
      await admin.flushall();
      for (const instance of [a, b]) {
        for (let i = 0; i < LIMIT; i++) expect(await refresh(instance)).toBe(401); // each counts alone
        expect(await refresh(instance)).toBe(429);
      }
      await delay(1200); // it was tried again
      const [line, ...more] = logged(a, 'warn');
      expect([line, more]).toEqual([expect.stringMatching(/^Redis cannot be used.*NOPERM/), []]);
      expect(logged(b, 'warn')).toEqual([line]);
      expect(unstructured).not.toHaveBeenCalled();

      await admin.acl('SETUSER', 'app', 'resetkeys', 'resetchannels', ...ALL_RIGHTS);
      await untilRedisIs('up', a, b);
      await push(a, user_id, 'heard').expect(202);
      await Promise.all([here.next('heard'), there.next('heard')]);
      for (const { history } of [here, there]) expect(history.map(({ event }) => event)).toEqual(['heard']);
      const back = [a, b].flatMap((instance) => logged(instance, 'info')); // Nest has one logger for both
      expect(back).toEqual(['Redis is back', 'Redis is back']);
    },
  );

  it('rights that are withdrawn while it runs: Redis counts as down after the next push', async () => {
    const service = await startAs('fickle', ALL_RIGHTS);
    await untilRedisIs('up', service);
    const { user_id } = await signIn(service.url);
    await admin.acl('SETUSER', 'fickle', '-publish');
    await push(service, user_id, 'one').expect(202);
    await untilRedisIs('down', service);
    await push(service, user_id, 'two').expect(500);
    expect(logged(service, 'warn')).toEqual([expect.stringContaining("'publish'")]);
    await admin.acl('SETUSER', 'fickle', '+publish');
    await untilRedisIs('up', service);
  });

  it('full, it carries pushes all the same', async () => {
    await admin.config('SET', 'maxmemory', '1');
    try {
      await untilRedisIs('up', await start(redis.url));
    } finally {
      await admin.config('SET', 'maxmemory', '0');
    }
  });

  it('every node of a Cluster is of use, a replica as well', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'redis-cluster-'));
    const nodes: RedisServer[] = [];
    const clients: Redis[] = [];
    try {
      for (const name of ['master', 'replica']) {
        const files = ['--dir', directory, '--cluster-config-file', `${name}.conf`];
        const port = ['--cluster-port', String(await freePort())];
        nodes.push(await RedisServer.start('--cluster-enabled', 'yes', ...files, ...port));
        clients.push(new Redis(nodes.at(-1)!.url));
      }
      const [master, replica] = clients as [Redis, Redis];
      const nodesOf = async (node: Redis): Promise<string> => String(await node.call('CLUSTER', 'NODES'));
      await master.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
      const [, id, bus] = /^(\w+) \S+@(\d+)/.exec(await nodesOf(master))!;
      await replica.call('CLUSTER', 'MEET', '127.0.0.1', String(nodes[0]!.port), bus!);
      await until(async () => (await nodesOf(replica)).includes(id!));
      await replica.call('CLUSTER', 'REPLICATE', id!);
      await until(async () => (await replica.info('replication')).includes('master_link_status:up'));

      const [a, b] = [await start(nodes[0]!.url), await start(nodes[1]!.url)];
      await untilRedisIs('up', a, b);
      const { user_id, access_token } = await signIn(a.url);
      const there = await connect(a, access_token);
      await push(b, user_id, 'heard').expect(202);
      await there.next('heard');
    } finally {
      for (const client of clients) client.disconnect();
      for (const node of nodes) await node.kill();
      await rm(directory, { recursive: true, force: true });
    }
  });

  it.each([
    [
      'a Sentinel',
      () => SentinelServer.of(redis),
      'is a Sentinel, not a Redis: use redis+sentinel://127.0.0.1:',
    ],
    ['a replica', () => RedisServer.replicaOf(redis), 'is a replica, not the master'],
  ] as const)('%s counts as away, and one line says what it is', async (_name, startOther, words) => {
    const other = await startOther();
    try {
      const service = await start(other.url);
      await until(() => logged(service, 'warn').length > 0);
      expect(await redisOf(service)).toBe('down');
      const { user_id } = await signIn(service.url);
      await push(service, user_id, 'unheard').expect(500);
      await delay(1500); // it was tested again, for a replica over a new connection
      expect(logged(service, 'warn')).toEqual([expect.stringContaining(words)]);
    } finally {
      await other.kill();
    }
  });

  it('a warning of a wrong password does not show the password', async () => {
    const service = await start(redis.url.replace('//', `//nobody:${PASSWORD}@`));
    await until(() => logged(service, 'warn').length > 0);
    expect(service.log.find((line) => line.includes('Redis is away'))).toContain('WRONGPASS');
  });
});

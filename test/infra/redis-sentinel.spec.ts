import { setTimeout as delay } from 'node:timers/promises';
import { Cluster } from '../support/cluster.js';
import { FaultLoad } from './fault-load.js';
import { freePort } from '../support/free-port.js';
import { needs } from '../support/installed.js';
import { isFull } from './faults.js';
import { hasRedis, RedisServer, SentinelServer } from '../support/redis-server.js';
import type { ServiceProcess } from '../support/service-process.js';
import { until } from '../support/waiting.js';

const SUCCESSES = isFull ? 200 : 50;
const PASSWORD = 'of/redis@itself';
const SENTINEL_PASSWORD = 'of-the-sentinels';

needs({ 'redis-server': hasRedis }).describe('Redis by its Sentinels', () => {
  let cluster: Cluster;
  const ended: { kill(): Promise<void> }[] = [];

  beforeAll(async () => {
    cluster = await Cluster.create();
  });
  afterEach(async () => {
    const instances = cluster.instances.splice(0);
    await Promise.all(instances.map((instance) => instance.end('SIGKILL')));
    await Promise.all(ended.splice(0).map((server) => server.kill()));
    const output = instances.map((instance) => instance.output()).join('');
    for (const never of [PASSWORD, encodeURIComponent(PASSWORD), SENTINEL_PASSWORD, 'nhandled']) {
      expect(output).not.toContain(never);
    }
  });
  afterAll(() => cluster?.close());

  function end<Server extends { kill(): Promise<void> }>(server: Server): Server {
    ended.push(server);
    return server;
  }
  /** @returns the master, and the Sentinels' addresses: the first of them is gone */
  async function start(): Promise<{ master: RedisServer; addresses: string }> {
    const auth = ['--requirepass', PASSWORD, '--masterauth', PASSWORD];
    const master = end(await RedisServer.start(...auth));
    end(await RedisServer.replicaOf(master, ...auth));
    const settings = [`sentinel auth-pass <master> ${PASSWORD}`, `requirepass ${SENTINEL_PASSWORD}`];
    const sentinel = end(await SentinelServer.of(master, 1, settings));
    return { master, addresses: `127.0.0.1:${await freePort()},127.0.0.1:${sentinel.port}` };
  }
  const urlOf = (addresses: string, name = SentinelServer.master): string =>
    `redis+sentinel://:${encodeURIComponent(PASSWORD)}@${addresses}/${name}?sentinel_password=${SENTINEL_PASSWORD}`;
  async function redisOf(instance: ServiceProcess): Promise<string> {
    return ((await cluster.readiness(instance))[1] as { redis: string }).redis;
  }

  it.each([
    ['killed', (master: RedisServer) => master.kill()],
    ...(isFull ? [['frozen', async (master: RedisServer) => master.freeze()] as const] : []),
  ] as const)(
    'the master is %s under load: only pushes fail, none is lost, doubled, or out of order',
    async (how, hurt) => {
      const { master, addresses } = await start();
      const REDIS_URL = urlOf(addresses);
      const instances = await Promise.all([cluster.start({ REDIS_URL }), cluster.start({ REDIS_URL })]);
      const areUp = async (): Promise<void> => {
        for (const instance of instances) await until(async () => (await redisOf(instance)) === 'up');
      };
      await areUp();
      const urls = instances.map(({ url }) => url);
      const load = await FaultLoad.start(urls, isFull ? 8 : 2);
      try {
        await load.successes(SUCCESSES);
        await hurt(master);
        await delay(1000); // before it is noticed, the state is still "up"
        await areUp();
        await load.successes(SUCCESSES);
        await load.finish(`Redis' master ${how}, replaced by a Sentinel`, 'only pushes fail');
        expect(load.tally.failed).toBeGreaterThan(0);
        expect(load.unexcused().filter((failure) => !failure.startsWith('push '))).toEqual([]);
      } finally {
        await load.close();
      }
    },
  );

  it.each([
    [
      'Sentinels that know no such master',
      (addresses: string) => urlOf(addresses, 'other'),
      'No such master with that name',
    ],
    [
      'a Redis in the place of a Sentinel',
      (_: string, { port }: RedisServer) => urlOf(`127.0.0.1:${port}`),
      'WRONGPASS',
    ],
  ])('%s: one line says so', async (_name, url, words) => {
    const { master, addresses } = await start();
    const instance = await cluster.start({ REDIS_URL: url(addresses, master) });
    await until(() => instance.output().includes('Redis is away'));
    expect(await redisOf(instance)).toBe('down');
    await delay(500);
    const lines = instance.output().split('\n');
    expect(lines.filter((line) => line.includes('RedisConnection'))).toEqual([
      expect.stringContaining(words),
    ]);
  });
});

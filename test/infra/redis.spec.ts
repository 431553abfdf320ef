import { setTimeout as delay } from 'node:timers/promises';
import { Cluster } from '../support/cluster.js';
import { Endings } from '../support/endings.js';
import { FaultLoad } from '../support/fault-load.js';
import { isFull } from '../support/faults.js';
import { needs } from '../support/installed.js';
import { hasRedis, RedisServer } from '../support/redis-server.js';
import { until } from '../support/waiting.js';

const FAULT_MS = 5000;
const LONG = 180_000;

/** Two instances with one Redis, under load, while something happens to it. Only in full. */
needs({ 'npm run test:infra in full': isFull, 'redis-server': hasRedis }).describe('faults of Redis', () => {
  const endings = new Endings();
  let cluster: Cluster;

  beforeEach(async () => {
    cluster = endings.after(await Cluster.create(), (all) => all.close());
  });
  afterEach(() => endings.run());

  async function underLoad(REDIS_URL: string, fault: string, work: () => Promise<unknown>): Promise<void> {
    const instances = await Promise.all([cluster.start({ REDIS_URL }), cluster.start({ REDIS_URL })]);
    const areUp = async (): Promise<boolean> => {
      const all = await Promise.all(instances.map((instance) => cluster.readiness(instance)));
      return all.every(([, body]) => (body as { redis: string }).redis === 'up');
    };
    await until(areUp);
    const urls = instances.map(({ url }) => url);
    const load = endings.after(await FaultLoad.start(urls), (one) => one.close());
    await load.successes(200);
    await work();
    await until(areUp);
    await load.successes(200);
    await load.finish(fault, 'only pushes fail');
    expect(load.unexcused().filter((failure) => !failure.startsWith('push '))).toEqual([]);
  }

  it.each([
    [
      'killed and started again 5 s later',
      (redis: RedisServer) => redis.kill(),
      (redis: RedisServer) => redis.start(),
    ],
    [
      'frozen for 5 s',
      async (redis: RedisServer) => redis.freeze(),
      async (redis: RedisServer) => redis.thaw(),
    ],
  ] as const)(
    'Redis is %s',
    async (fault, hurt, heal) => {
      const redis = endings.after(await RedisServer.start(), (server) => server.kill());
      const work = async (): Promise<void> => {
        await hurt(redis);
        await delay(FAULT_MS);
        await heal(redis);
      };
      await underLoad(redis.url, `Redis ${fault}`, work);
    },
    LONG,
  );
});

import { setTimeout as delay } from 'node:timers/promises';
import type { RedisServer } from '../../test/support/redis-server.js';
import type { Instance } from './instance.js';
import type { Random } from '../../test/support/random.js';
import type { World } from './world.js';

/** What a fault is done with. */
interface Victim {
  readonly world: World;
  /** That of this turn. */
  readonly instance: Instance;
  readonly random: Random;
}
type Strike = (victim: Victim) => Promise<string | void>;

const SHORTEST_MS = 300;
const LONGEST_MS = 4000;

/** For as long as a fault lasts. */
function aWhile(random: Random, longest = LONGEST_MS): Promise<void> {
  return delay(random.between(SHORTEST_MS, longest));
}

/** Of processes: the service's own. */
const SERVICE = {
  'service-killed': async ({ instance, random }) => {
    await instance.end('SIGKILL');
    await aWhile(random, 1000);
    await instance.start();
  },
  'service-frozen': async ({ instance, random }) => {
    instance.freeze();
    await aWhile(random);
    instance.thaw();
  },
  'service-stopped': async ({ instance }) => {
    const code = await instance.end('SIGTERM');
    if (code !== 0) throw new Error(`it stopped with ${code}:\n${instance.output().slice(-2000)}`);
    await instance.start();
  },
} satisfies Record<string, Strike>;

/** Of PostgreSQL: for all instances at once. */
const POSTGRES = {
  'postgres-killed': async ({ world: { postgres }, random }) => {
    await postgres.primary.kill();
    await aWhile(random, 2000);
    await postgres.primary.start();
    await postgres.whole();
    return 'primary';
  },
  'postgres-frozen': async ({ world: { postgres }, random }) => {
    postgres.primary.freeze();
    await aWhile(random);
    postgres.primary.thaw();
    return 'primary';
  },
  failover: async ({ world: { postgres, instances } }) => {
    await postgres.failOver(({ port }) => {
      for (const { database } of instances) database.retarget(port);
    });
    return 'primary';
  },
  'standby-killed': async ({ world: { postgres }, random }) => {
    await postgres.standby.kill();
    await aWhile(random);
    await postgres.standby.start();
    await postgres.whole();
    return 'standby';
  },
  'standby-frozen': async ({ world: { postgres }, random }) => {
    postgres.standby.freeze();
    await aWhile(random);
    postgres.standby.thaw();
    return 'standby';
  },
} satisfies Record<string, Strike>;

/** Of the way from one instance to its database, or from its clients to it. */
const NETWORK = {
  'database-cut': async ({ instance: { database }, random }) => {
    await database.refuse();
    await aWhile(random);
    await database.restore();
  },
  'database-frozen': async ({ instance: { database }, random }) => {
    database.freeze();
    await aWhile(random);
    await database.restore();
  },
  'database-delayed': async ({ instance: { database }, random }) => {
    database.toServer.delayMs = random.between(0, 500);
    database.toClient.delayMs = random.between(0, 800);
    await aWhile(random);
    await database.restore();
  },
  'database-dropped-one-way': async ({ instance: { database }, random }) => {
    const direction = random.chance(0.5) ? database.toServer : database.toClient;
    direction.drops = () => true;
    await aWhile(random);
    await database.restore();
  },
  'clients-cut': async ({ instance: { clients }, random }) => {
    await clients.refuse();
    await aWhile(random, 1000);
    await clients.restore();
  },
} satisfies Record<string, Strike>;

const REDIS = {
  'redis-killed': async ({ world, random }) => {
    const redis = redisOf(world);
    await redis.kill();
    await aWhile(random);
    await redis.start();
    return 'Redis';
  },
  'redis-frozen': async ({ world, random }) => {
    const redis = redisOf(world);
    redis.freeze();
    await aWhile(random);
    redis.thaw();
    return 'Redis';
  },
  'redis-cut': async ({ instance: { redis }, random }) => {
    await redis!.refuse();
    await aWhile(random);
    await redis!.restore();
  },
  'redis-cut-from-all': async ({ world: { instances }, random }) => {
    await Promise.all(instances.map(({ redis }) => redis!.refuse()));
    await aWhile(random);
    await Promise.all(instances.map(({ redis }) => redis!.restore()));
    return 'Redis';
  },
} satisfies Record<string, Strike>;

function redisOf({ redis }: World): RedisServer {
  if (!redis) throw new Error('there is no Redis in this world');
  return redis;
}

/** Everything that a nemesis knows. */
export const FAULTS = { ...SERVICE, ...POSTGRES, ...NETWORK, ...REDIS };

export type FaultName = keyof typeof FAULTS;

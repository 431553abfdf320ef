import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../test/support/random.js';
import type { TcpProxy } from '../../test/support/tcp-proxy.js';
import type { Instance } from './instance.js';
import type { World } from './world.js';

/** What a fault is done with. */
interface Victim {
  readonly world: World;
  /** That of this turn. */
  readonly instance: Instance;
  /** Lasts as long as a fault; at most so many milliseconds. */
  readonly aWhile: (longest?: number) => Promise<void>;
  readonly random: Random;
}
/** @returns to what it was done, if not to the instance */
type Strike = (victim: Victim) => Promise<string | void>;

const SHORTEST_MS = 300;
const LONGEST_MS = 4000;

async function freeze(
  it: { freeze(): void; thaw(): void },
  { aWhile }: Victim,
  name?: string,
): Promise<string | void> {
  it.freeze();
  await aWhile();
  it.thaw();
  return name;
}

async function refuse(
  proxies: readonly (TcpProxy | undefined)[],
  { aWhile }: Victim,
  longest?: number,
): Promise<void> {
  await Promise.all(proxies.map((proxy) => proxy!.refuse()));
  await aWhile(longest);
  await Promise.all(proxies.map((proxy) => proxy!.restore()));
}

/** Of a part of PostgreSQL. */
async function kill(
  part: 'primary' | 'standby',
  { world: { postgres }, aWhile }: Victim,
  longest?: number,
): Promise<string> {
  await postgres[part].kill();
  await aWhile(longest);
  await postgres[part].start();
  await postgres.whole();
  return part;
}

const FAULTS = {
  // The service's own process.
  'service-killed': async ({ instance, aWhile }) => {
    await instance.end('SIGKILL');
    await aWhile(1000);
    await instance.start();
  },
  'service-frozen': (victim) => freeze(victim.instance, victim),
  'service-stopped': async ({ instance }) => {
    const code = await instance.end('SIGTERM');
    if (code !== 0) throw new Error(`it stopped with ${code}:\n${instance.output().slice(-2000)}`);
    await instance.start();
  },

  // PostgreSQL: for all instances at once.
  'postgres-killed': (victim) => kill('primary', victim, 2000),
  'postgres-frozen': (victim) => freeze(victim.world.postgres.primary, victim, 'primary'),
  failover: async ({ world: { postgres, instances } }) => {
    await postgres.failOver(({ port }) => {
      for (const { database } of instances) database.retarget(port);
    });
    return 'primary';
  },
  'standby-killed': (victim) => kill('standby', victim),
  'standby-frozen': (victim) => freeze(victim.world.postgres.standby, victim, 'standby'),

  // The way from one instance to its database, or from its clients to it.
  'database-cut': (victim) => refuse([victim.instance.database], victim),
  'database-frozen': async ({ instance: { database }, aWhile }) => {
    database.freeze();
    await aWhile();
    await database.restore();
  },
  'database-delayed': async ({ instance: { database }, aWhile, random }) => {
    database.toServer.delayMs = random.between(0, 500);
    database.toClient.delayMs = random.between(0, 800);
    await aWhile();
    await database.restore();
  },
  'database-dropped-one-way': async ({ instance: { database }, aWhile, random }) => {
    const direction = random.chance(0.5) ? database.toServer : database.toClient;
    direction.drops = () => true;
    await aWhile();
    await database.restore();
  },
  'clients-cut': (victim) => refuse([victim.instance.clients], victim, 1000),

  // The way from a verifier to its instance: open connections are silent, and new ones have no session feed.
  'feed-cut': async ({ world: { feed }, random }) => {
    feed.strand();
    feed.toServer.drops = (chunk) => chunk.includes('GET /sessions/ended');
    await delay(random.between(6000, 9000)); // a verifier notices the silence after two seconds
    await feed.restore();
    return 'feed';
  },

  'redis-killed': async ({ world, aWhile }) => {
    await world.redis!.kill();
    await aWhile();
    await world.redis!.start();
    return 'Redis';
  },
  'redis-frozen': (victim) => freeze(victim.world.redis!, victim, 'Redis'),
  'redis-cut': (victim) => refuse([victim.instance.redis], victim),
  'redis-cut-from-all': async (victim) => {
    const ways = victim.world.instances.map(({ redis }) => redis);
    await refuse(ways, victim);
    return 'Redis';
  },
} satisfies Record<string, Strike>;

export type FaultName = keyof typeof FAULTS;

/** One thing that was done to the world; by `performance.now()`. */
export interface Fault {
  readonly kind: 'fault';
  readonly fault: FaultName;
  /** To what it was done. */
  readonly target: string;
  readonly begun: number;
  /** When all was whole again. */
  readonly ended: number;
}

/**
 * One fault, from its beginning until all is whole again.
 * @throws Error that names what did not come back
 */
export async function strike(world: World, fault: FaultName, random: Random): Promise<Fault> {
  const instance = random.pick(world.instances);
  const aWhile = (longest = LONGEST_MS): Promise<void> => delay(random.between(SHORTEST_MS, longest));
  const begun = performance.now();
  try {
    const work: Strike = FAULTS[fault];
    const target = (await work({ world, instance, aWhile, random })) ?? instance.name;
    await Promise.all([world.postgres.commit(), world.healthy()]);
    return { kind: 'fault', fault, target, begun, ended: performance.now() };
  } catch (error) {
    throw new Error(`${fault} (${instance.name}): ${(error as Error).message}`, { cause: error });
  }
}

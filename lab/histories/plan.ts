import type { FaultName } from '../world/faults.js';
import type { Random } from '../../test/support/random.js';

const IN_AN_HOUR: Readonly<Record<FaultName, number>> = {
  'service-killed': 100, // those at points inside an exchange: kill-points.spec.ts
  'service-frozen': 8,
  'service-stopped': 8,
  'postgres-killed': 50,
  'postgres-frozen': 8,
  failover: 20,
  'standby-killed': 4,
  'standby-frozen': 4,
  'database-cut': 8,
  'database-frozen': 8,
  'database-delayed': 8,
  'database-dropped-one-way': 8,
  'clients-cut': 8,
  'feed-cut': 20,
  'redis-killed': 6,
  'redis-frozen': 6,
  'redis-cut': 30,
  'redis-cut-from-all': 20,
};
const OF_REDIS = /^redis-/;

/**
 * The faults of one half of a run, in an order that the seed decides.
 * @param minutes of the whole run
 */
export function planFaults(minutes: number, redis: boolean, random: Random): FaultName[] {
  const names = Object.keys(IN_AN_HOUR) as FaultName[];
  const plan = names.flatMap((name) => {
    const halves = OF_REDIS.test(name) ? Number(redis) : 0.5;
    return Array.from({ length: Math.ceil(IN_AN_HOUR[name] * halves * (minutes / 60)) }, () => name);
  });
  const keyed = plan.map((name) => ({ name, key: random.next() }));
  return keyed.toSorted((a, b) => a.key - b.key).map(({ name }) => name);
}

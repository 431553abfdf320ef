import { setTimeout as delay } from 'node:timers/promises';
import type { Instance } from './instance.js';
import { randomBetween } from './random.js';
import type { World } from './world.js';

/** What a fault is done with. */
interface Victim {
  readonly world: World;
  /** That of this turn. */
  readonly instance: Instance;
  readonly random: () => number;
}
/** Does it and undoes it. @returns to what it was done */
type Strike = (victim: Victim) => Promise<string>;

const SHORTEST_MS = 300;
const LONGEST_MS = 4000;

/** For as long as a fault lasts. */
function aWhile(random: () => number, longest = LONGEST_MS): Promise<void> {
  return delay(randomBetween(random, SHORTEST_MS, longest));
}

/** Everything that a nemesis knows. */
export const FAULTS = {
  'service-killed': async ({ instance, random }) => {
    await instance.end('SIGKILL');
    await aWhile(random, 1000);
    await instance.start();
    return instance.name;
  },
  'service-frozen': async ({ instance, random }) => {
    instance.freeze();
    await aWhile(random);
    instance.thaw();
    return instance.name;
  },
} satisfies Record<string, Strike>;

export type FaultName = keyof typeof FAULTS;

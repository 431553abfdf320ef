import type { Random } from '../../test/support/random.js';
import { FAULTS, type FaultName } from './faults.js';
import type { World } from './world.js';

export type { FaultName } from './faults.js';

/** One thing that was done to the world. */
export interface Fault {
  readonly kind: 'fault';
  readonly fault: FaultName;
  /** To what it was done. */
  readonly target: string;
  /** By `performance.now()`. */
  readonly begun: number;
  /** When all was whole again. */
  readonly ended: number;
}

/** Breaks one thing of a world after the other. */
export class Nemesis {
  /**
   * @param record takes each fault, once all is whole again
   */
  constructor(
    private readonly world: World,
    private readonly record: (fault: Fault) => void,
    private readonly random: Random,
  ) {}

  /**
   * One fault, from its beginning until all is whole again.
   * @throws Error that names what did not come back
   */
  async strike(fault: FaultName): Promise<void> {
    const { world, random } = this;
    const instance = random.pick(world.instances);
    const begun = performance.now();
    try {
      const strike: (typeof FAULTS)[FaultName] = FAULTS[fault];
      const target = (await strike({ world, instance, random })) ?? instance.name;
      await Promise.all([world.postgres.commit(), world.healthy()]);
      this.record({ kind: 'fault', fault, target, begun, ended: performance.now() });
    } catch (error) {
      throw new Error(`${fault} (${instance.name}): ${(error as Error).message}`, { cause: error });
    }
  }
}

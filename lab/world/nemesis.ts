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
  /** When the last part of it was undone: what was stopped runs again, what was cut is joined. */
  readonly undone: number;
  /** When all was whole again. */
  readonly ended: number;
  readonly recovery: Recovery;
}

/** What followed the end of a fault's cause: by `performance.now()`, each seen from outside. */
interface Recovery {
  /** The cause was gone: a process was there again, clients were led to the new primary, a network let bytes through. */
  readonly gone: number;
  /** PostgreSQL itself had acknowledged a commit since, and a new process said that it is ready: nobody is whole before. */
  readonly returned: number;
  /** Since then every instance has written, was ready, and heard the others. */
  readonly whole: number;
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
    const watched: Promise<Recovery>[] = [];
    const gone = (back?: Promise<void>): void => {
      if (watched.length > 0) return;
      const recovery = this.recover(back);
      recovery.catch(() => undefined); // it is awaited below, unless something fails before
      watched.push(recovery);
    };
    const begun = performance.now();
    try {
      const strike: (typeof FAULTS)[FaultName] = FAULTS[fault];
      const target = (await strike({ world, instance, random, gone })) ?? instance.name;
      const undone = performance.now();
      gone();
      const recovery = await watched[0]!;
      await world.healthy(); // once more: what was undone last may have come after it
      this.record({ kind: 'fault', fault, target, begun, undone, ended: performance.now(), recovery });
    } catch (error) {
      throw new Error(`${fault} (${instance.name}): ${(error as Error).message}`, { cause: error });
    }
  }
  /** Asks from the moment at which it is called. */
  private async recover(back: Promise<void> | undefined): Promise<Recovery> {
    const gone = performance.now();
    const now = (): number => performance.now();
    const { world } = this;
    const [returned, whole] = await Promise.all([
      Promise.all([world.postgres.commit(), back]).then(now),
      world.healthy().then(now),
    ]);
    return { gone, returned, whole };
  }
}

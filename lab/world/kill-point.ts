import type { Instance } from './instance.js';
import type { World } from './world.js';

export interface Scene {
  readonly world: World;
  readonly victim: Instance;
  /** One that lives on. */
  readonly other: Instance;
}

export interface Attempt {
  /** Resolves when it stands there. */
  readonly reached: Promise<unknown>;
  /** Whether it has gone on, or has been given up, before the kill: then it shows nothing. */
  isMissed(): boolean;
  /** The service is dead: what was on its way arrives, or is lost. */
  settle(): Promise<void>;
  judge(): Promise<void>;
}

/** A moment inside a request. */
export interface KillPoint {
  readonly name: string;
  /** It holds what goes to or comes from the database: the service gives that up after a second. */
  readonly isBrief: boolean;
  /** Makes what the request needs. @returns what sends it */
  prepare(scene: Scene): Promise<() => Attempt>;
}

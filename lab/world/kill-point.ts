import { setTimeout as delay } from 'node:timers/promises';
import type { Instance } from './instance.js';
import type { World } from './world.js';

const REACHED_WITHIN_MS = 5000;

export interface Scene {
  readonly world: World;
  readonly victim: Instance;
  /** An instance that is not killed. */
  readonly other: Instance;
}

export interface Attempt {
  /** Resolves if the request is at the point. */
  readonly reached: Promise<unknown>;
  /** Whether the request has gone on, or has been given up, before the kill: then it shows nothing. */
  isMissed(): boolean;
  /** The service is dead: bytes in transit arrive, or are lost. */
  settle(): Promise<void>;
  /** Checks what is stored, and what the client may do now. */
  check(): Promise<void>;
}

/** A moment inside a request. */
export interface KillPoint {
  readonly name: string;
  /** Sends the request. */
  begin(scene: Scene): Promise<Attempt>;
}

/**
 * Brings a request to a point, kills the service there, and starts it again.
 * @returns false if the request was answered or given up before, as on a busy machine
 * @throws Error with the name of the point
 */
export async function killAt(point: KillPoint, scene: Scene): Promise<boolean> {
  const { victim, world } = scene;
  try {
    const attempt = await point.begin(scene);
    const timeout = delay(REACHED_WITHIN_MS, false, { ref: false });
    const isThere = await Promise.race([attempt.reached.then(() => true), timeout]);
    const isShown = isThere && !attempt.isMissed();
    await victim.end('SIGKILL');
    if (isShown) await attempt.settle();
    await Promise.all([victim.clients.restore(), victim.database.restore()]);
    await victim.start();
    if (isShown) await attempt.check();
    world.provider.reset();
    return isShown;
  } catch (error) {
    throw new Error(`${point.name}: ${(error as Error).message}`, { cause: error });
  }
}

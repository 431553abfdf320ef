import { setTimeout as delay } from 'node:timers/promises';
import { StormCrowd } from '../../support/storm-crowd.js';
import type { Refreshes } from './refreshes.js';
import type { Round } from './rounds.js';

/** A server whose sockets go elsewhere when it ends. */
export interface Leaving {
  readonly port: number;
  end(): Promise<unknown>;
}

/**
 * All sockets are at a server that ends, and come back at once to another one, which serves refreshes meanwhile.
 * @param tokens one for each socket
 * @returns what refreshes waited for, and the seconds until all were back
 */
export async function stormRound(
  leaving: Leaving,
  servingPort: number,
  tokens: readonly string[],
  refreshes: Refreshes,
  quietMs: number,
): Promise<{ round: Round; seconds: number; refusals: Readonly<Record<string, number>> }> {
  const crowd = new StormCrowd(tokens);
  try {
    await crowd.connect(leaving.port);
    const before = await refreshes.during(quietMs);
    crowd.forget();
    crowd.target(servingPort);
    const began = performance.now();
    const left = leaving.end();
    await crowd.untilReady();
    const seconds = (performance.now() - began) / 1000;
    const during = await refreshes.take();
    await left;
    await delay(quietMs / 2); // presence is written, garbage is collected
    const after = await refreshes.during(quietMs);
    return { round: [before, during, after], seconds, refusals: (await crowd.counts()).refusals };
  } finally {
    crowd.close();
    await delay(quietMs / 2); // so many sockets close
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import { ask, startBeside, type StormCounts } from './storm.js';

const PROCESSES = 2;
const LONGEST_STORM_MS = 120_000;

/** Many sockets that come back by themselves (storm-clients.mjs), in processes that give way to all others. */
export class StormCrowd {
  private readonly children = Array.from({ length: PROCESSES }, () =>
    startBeside('./storm-clients.mjs', true),
  );

  /** @param tokens one for each socket */
  constructor(private readonly tokens: readonly string[]) {}

  /** Resolves when all are connected, some at a time, to a port. */
  async connect(port: number, atOnce = 50): Promise<void> {
    this.target(port);
    const share = Math.ceil(this.tokens.length / PROCESSES);
    this.children.forEach((one, i) => {
      const from = i * share;
      one.send({ do: 'connect', from, tokens: this.tokens.slice(from, from + share), atOnce });
    });
    await this.untilReady();
  }

  /** From now on they come back to this port. */
  target(port: number): void {
    for (const one of this.children) one.send({ do: 'target', port });
  }

  /** Counts begin anew, but for those that are ready. */
  forget(): void {
    for (const one of this.children) one.send({ do: 'forget' });
  }

  async counts(): Promise<StormCounts> {
    const counts = await Promise.all(this.children.map((one) => ask<StormCounts>(one, { do: 'count' })));
    return counts.reduce(sum);
  }

  /** Resolves when all are ready, each after an attempt since `forget`. */
  async untilReady(): Promise<void> {
    const end = performance.now() + LONGEST_STORM_MS;
    for (;;) {
      const { attempts, ready } = await this.counts();
      if (attempts >= this.tokens.length && ready === this.tokens.length) return;
      if (performance.now() > end)
        throw new Error(`not all are back: ${JSON.stringify(await this.counts())}`);
      await delay(50);
    }
  }

  /** Ends all at once. */
  close(): void {
    for (const one of this.children) one.kill();
  }
}

function sum(one: StormCounts, other: StormCounts): StormCounts {
  const refusals = { ...one.refusals };
  for (const [why, count] of Object.entries(other.refusals)) refusals[why] = (refusals[why] ?? 0) + count;
  const { ready, attempts, refused, cut, late, told } = other;
  return {
    ready: one.ready + ready,
    attempts: one.attempts + attempts,
    refused: one.refused + refused,
    cut: one.cut + cut,
    late: one.late + late,
    told: one.told + told,
    refusals,
  };
}

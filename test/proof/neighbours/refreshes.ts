import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { ask, quantile, startBeside, type Refresh } from '../../support/storm.js';

/** What refreshes at a steady rate had to wait, on connections that are kept, in milliseconds from the time that each was due. */
export interface Wait {
  readonly count: number;
  readonly failed: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** By how much they were sent too late at the 99th percentile: what the client adds. */
  readonly late: number;
}

/** Other people's refreshes: what they wait for is the measure. */
export class Refreshes {
  private readonly child: ChildProcess = startBeside('./storm-refreshes.mjs', false);

  /** Resolves when code and connections are warm. */
  async start(port: number, tokens: readonly string[], perSecond: number, warmMs: number): Promise<void> {
    this.child.send({ do: 'start', port, tokens, perSecond });
    await delay(warmMs);
    await this.take();
  }

  /** Those that were answered since the last time. */
  async take(): Promise<Wait> {
    const all = await ask<Refresh[]>(this.child, { do: 'report' });
    const kept = all.filter(([, , , isNew]) => !isNew);
    const waits = kept.map(([, took, , , late]) => took + late);
    const [p50, p99, max] = [0.5, 0.99, 1].map((share) => quantile(waits, share)) as [number, number, number];
    const late = quantile(
      kept.map((one) => one[4]),
      0.99,
    );
    return {
      count: all.length,
      failed: all.filter(([, , status]) => status !== 200).length,
      p50,
      p99,
      max,
      late,
    };
  }

  /** Those of the next while. */
  async during(milliseconds: number): Promise<Wait> {
    await this.take();
    await delay(milliseconds);
    return this.take();
  }

  close(): void {
    this.child.kill();
  }
}

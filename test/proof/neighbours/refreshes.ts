import type { ChildProcess } from 'node:child_process';
import { setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { ask, quantile, startBeside, type Refresh } from '../../support/storm.js';
import { now, Steal } from './steal.js';

/** Of a while, the share that is to be untouched. */
const ENOUGH = 0.75;
const LONGER_MS = 1000;

/** What refreshes at a steady rate had to wait, on connections that are kept, in milliseconds from the time that each was due. */
export interface Wait {
  readonly count: number;
  /** Why those failed that did, and how many each. */
  readonly failed: Readonly<Record<string, number>>;
  /** Of `count`, those that all figures but these two leave out: they were due while a hypervisor gave a processor to somebody else. */
  readonly leftOut: number;
  /** Of those, why some failed: where a processor is away for a second, the database seems to be. */
  readonly failedLeftOut: Readonly<Record<string, number>>;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** By how much they were sent too late at the 99th percentile: what the client adds. */
  readonly late: number;
}

/** Other people's refreshes: what they wait for is the measure. */
export class Refreshes {
  private readonly child: ChildProcess = startBeside('./storm-refreshes.mjs', false);
  private readonly steal = new Steal();

  /** Resolves when code and connections are warm. */
  async start(port: number, tokens: readonly string[], perSecond: number, warmMs: number): Promise<void> {
    measureFirst(this.child.pid!);
    this.child.send({ do: 'start', port, tokens, perSecond });
    await delay(warmMs);
    await this.take();
  }

  /** Those that were answered since the last time. */
  async take(): Promise<Wait> {
    const all = await ask<Refresh[]>(this.child, { do: 'report' });
    this.steal.look();
    const wait = waitOf(all, (due) => this.steal.has(due));
    if (Object.keys(wait.failedLeftOut).length > 0)
      process.stdout.write(
        `  neighbours, failed while a processor was away: ${JSON.stringify(wait.failedLeftOut)}\n`,
      );
    return wait;
  }

  /** Those of the next while: longer, up to three times, where a hypervisor takes much of it away. */
  async during(milliseconds: number): Promise<Wait> {
    await this.take();
    const began = now();
    await delay(milliseconds);
    while (this.steal.untouchedSince(began) < milliseconds * ENOUGH && now() - began < milliseconds * 3) {
      await delay(LONGER_MS);
    }
    return this.take();
  }

  close(): void {
    this.steal.close();
    this.child.kill();
  }
}

/** @param isLeftOut by when a refresh was due */
export function waitOf(all: readonly Refresh[], isLeftOut: (due: number) => boolean): Wait {
  const leftOut = new Set(all.filter(([due]) => isLeftOut(due)));
  const kept = all.filter((one) => !one[3] && !leftOut.has(one));
  const waits = kept.map(([, took, , , late]) => took + late);
  const [p50, p99, max] = [0.5, 0.99, 1].map((share) => quantile(waits, share)) as [number, number, number];
  return {
    count: all.length,
    failed: failuresOf(all.filter((one) => !leftOut.has(one))),
    leftOut: leftOut.size,
    failedLeftOut: failuresOf([...leftOut]),
    p50,
    p99,
    max,
    late: quantile(
      kept.map((one) => one[4]),
      0.99,
    ),
  };
}

function failuresOf(refreshes: readonly Refresh[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const [, , status, , , why] of refreshes) {
    const reason = `${status} ${why}`;
    if (status !== 200) counts[reason] = (counts[reason] ?? 0) + 1;
  }
  return counts;
}

/** What measures is not to wait for what it shares a processor with. */
function measureFirst(pid: number): void {
  try {
    setPriority(pid, -10);
  } catch {
    // only root may; how late it was is told
  }
}

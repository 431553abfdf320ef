import { readFileSync } from 'node:fs';

/** The kernel counts stolen time in steps of 10 ms. */
const EVERY_MS = 100;
/** Bounds what is kept: half an hour. */
const MOST = 18_000;

export interface Slice {
  readonly from: number;
  readonly to: number;
  readonly isStolen: boolean;
}

/**
 * When a hypervisor gave a processor of this machine to somebody else: Linux tells it a virtual machine as stolen time. What waits
 * then waits for the machine, in quiet as beside a disturbance. On a machine of one's own there is none.
 */
export class Steal {
  private readonly slices: Slice[] = [];
  private readonly timer = setInterval(() => this.look(), EVERY_MS).unref();
  private from: number;
  private ticks: number;

  /**
   * @param read the ticks that were stolen until now
   * @param clock ms since the epoch
   */
  constructor(
    private readonly read: () => number = stolenTicks,
    private readonly clock: () => number = now,
  ) {
    this.from = clock();
    this.ticks = read();
  }

  /** Whether what was due at a time (ms since the epoch) is to be left out. */
  has(due: number): boolean {
    return isNearStolen(
      this.slices,
      this.slices.findLastIndex(({ from }) => from <= due),
    );
  }

  /** Milliseconds since a time (ms since the epoch) of which nothing is to be left out. */
  untouchedSince(time: number): number {
    return this.slices.reduce(
      (sum, { from, to }, i) => sum + (from >= time && !isNearStolen(this.slices, i) ? to - from : 0),
      0,
    );
  }

  /** Up to this moment. */
  look(): void {
    const [to, ticks] = [this.clock(), this.read()];
    this.slices.push({ from: this.from, to, isStolen: ticks > this.ticks });
    if (this.slices.length > MOST) this.slices.shift();
    [this.from, this.ticks] = [to, ticks];
  }

  close(): void {
    clearInterval(this.timer);
  }
}

/**
 * A slice with stolen time, or one beside it: what was due just before met it, too, and what was due just after was behind the rest.
 * It depends on the time alone and not on what was waited for, so long waits are not left out more often than short ones.
 */
export function isNearStolen(slices: readonly Slice[], i: number): boolean {
  return [i - 1, i, i + 1].some((at) => slices[at]?.isStolen);
}

/** `cpu user nice system idle iowait irq softirq steal …` (proc_stat(5)): of all processors, in ticks. */
export function readStolen(stat: string): number {
  return Number(/^cpu +(?:\d+ ){7}(\d+)/.exec(stat)?.[1] ?? 0);
}

export function now(): number {
  return performance.timeOrigin + performance.now();
}

function stolenTicks(): number {
  return process.platform === 'linux' ? readStolen(readFileSync('/proc/stat', 'latin1')) : 0;
}

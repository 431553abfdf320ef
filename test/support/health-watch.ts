import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Asks `/health/live` again and again, and the process for its memory, until told to stop. */
export class HealthWatch {
  /** The longest time that a request has waited for its answer, in milliseconds. */
  longestGap = 0;
  /** Resident MiB, the most that was seen; NaN where there is no /proc. */
  memory = NaN;
  private readonly end = new AbortController();
  private readonly work: Promise<void>;

  constructor(
    private readonly url: string,
    private readonly pid: number,
  ) {
    this.work = this.watch();
  }

  async stop(): Promise<this> {
    this.end.abort();
    await this.work;
    return this;
  }

  private async watch(): Promise<void> {
    do {
      const began = performance.now();
      const { status } = await fetch(`${this.url}/health/live`);
      if (status !== 200) throw new Error(`/health/live answers ${status}`);
      this.longestGap = Math.max(this.longestGap, performance.now() - began);
      const memory = residentMiB(this.pid);
      if (!(memory <= this.memory)) this.memory = memory;
      await delay(20);
    } while (!this.end.signal.aborted);
  }
}

/** NaN where there is no /proc. */
function residentMiB(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
  } catch {
    return NaN;
  }
}

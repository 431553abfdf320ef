import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import type { ServiceProcess } from './service-process.js';

const LOOK_EVERY_MS = 10;

/** What an attack costs the service, seen from outside: how long others waited, and what its process holds. */
export class AttackCost {
  private readonly agent = new Agent({ keepAlive: true });
  private readonly before: number;
  private longestGap = 0;
  private peak = 0;
  private isOver = false;
  private readonly watching: Promise<void>;

  constructor(private readonly service: ServiceProcess) {
    this.before = this.residentMiB();
    this.watching = this.watch();
    this.watching.catch(() => undefined); // the error is thrown where the watch ends
  }

  /** Ends the watch; prints one line, and gives the longest gap of `/health/live` in milliseconds. */
  async end(attack: string, bytes: number): Promise<number> {
    this.isOver = true;
    await this.watching;
    this.agent.destroy();
    const memory = this.peak === 0 ? '' : `, ${this.before.toFixed(0)} → ${this.peak.toFixed(0)} MiB`;
    const gap = this.longestGap.toFixed(0);
    process.stdout.write(`${attack}: ${bytes} bytes sent; /health/live ${gap} ms at most${memory}\n`);
    return this.longestGap;
  }

  private async watch(): Promise<void> {
    while (!this.isOver) {
      const asked = performance.now();
      await new Promise<void>((resolve, reject) => {
        request(`${this.service.url}/health/live`, { agent: this.agent }, (response) =>
          response.resume().on('end', resolve),
        )
          .on('error', reject)
          .end();
      });
      this.longestGap = Math.max(this.longestGap, performance.now() - asked);
      this.peak = Math.max(this.peak, this.residentMiB());
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }

  /** 0 where there is no /proc. */
  private residentMiB(): number {
    try {
      const status = readFileSync(`/proc/${this.service.child.pid}/status`, 'utf8');
      return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024;
    } catch {
      return 0;
    }
  }
}

import { existsSync, readFileSync } from 'node:fs';
import type { ServiceProcess } from '../support/service-process.js';

/** What an attack has cost the service. */
export interface Cost {
  /** MiB by which its memory has grown; NaN on systems other than Linux. */
  readonly memory: number;
  /** The longest time without an answer of /health/live, in milliseconds. */
  readonly gap: number;
}

/** Watches a service under attack: asks it again and again whether it is alive. */
export class Witness {
  private readonly before: number;
  private readonly end = new AbortController();
  private readonly watching: Promise<number>;

  constructor(private readonly service: ServiceProcess) {
    this.before = rss(service);
    this.watching = this.watch();
    this.watching.catch(() => undefined); // stop() throws it
  }

  async stop(): Promise<Cost> {
    this.end.abort();
    const gap = await this.watching;
    return { gap, memory: rss(this.service) - this.before };
  }

  private async watch(): Promise<number> {
    let longest = 0;
    for (let answered = performance.now(); !this.end.signal.aborted;) {
      const response = await fetch(`${this.service.url}/health/live`);
      if (response.status !== 200) throw new Error(`/health/live answered ${response.status}`);
      await response.arrayBuffer();
      const now = performance.now();
      longest = Math.max(longest, now - answered);
      answered = now;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return longest;
  }
}

/** Resident memory of a process in MiB; NaN on systems other than Linux. */
function rss({ child }: ServiceProcess): number {
  const status = `/proc/${child.pid}/status`;
  if (!existsSync(status)) return Number.NaN;
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(status, 'latin1'))![1]) / 1024;
}

/** One line on what an attack costs both sides. @param sent bytes of the attacker */
export function report(attack: string, sent: number, { memory, gap }: Cost): void {
  const facts = [
    `${(sent / 1024 / 1024).toFixed(1)} MiB sent`,
    `memory ${memory >= 0 ? '+' : ''}${memory.toFixed(0)} MiB`,
    `longest gap ${gap.toFixed(0)} ms`,
  ];
  process.stdout.write(`  attack: ${attack}: ${facts.join(', ')}\n`);
}

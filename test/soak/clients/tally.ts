import { Histogram } from '../histogram.js';
import type { Kind } from './kinds.js';

/** Milliseconds of one kind of request. */
export interface Latency {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export interface Report {
  readonly latencies: Readonly<Partial<Record<Kind, Latency>>>;
  /** How often something happened that must not, by what it was. */
  readonly unexpected: Readonly<Record<string, number>>;
  /** Things that are only counted. */
  readonly counts: Readonly<Record<string, number>>;
}

const MOST_TEXTS = 50;

/** What the clients have seen since the last report. */
export class Tally {
  private latencies = new Map<Kind, Histogram>();
  private unexpected = new Map<string, number>();
  private counts = new Map<string, number>();

  /** @param due by `performance.now()`: when it should have been sent, so that a late client does not hide a slow service */
  took(kind: Kind, due: number): void {
    let histogram = this.latencies.get(kind);
    if (!histogram) this.latencies.set(kind, (histogram = new Histogram()));
    histogram.add(performance.now() - due);
  }

  wrong(what: string): void {
    const text = this.unexpected.size < MOST_TEXTS || this.unexpected.has(what) ? what : 'others';
    this.unexpected.set(text, (this.unexpected.get(text) ?? 0) + 1);
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  /** What was seen since the last time. */
  take(): Report {
    const latencies = [...this.latencies].map(([kind, histogram]) => {
      const { count, max } = histogram;
      return [kind, { count, p50: histogram.quantile(0.5), p99: histogram.quantile(0.99), max }] as const;
    });
    const report = {
      latencies: Object.fromEntries(latencies),
      unexpected: Object.fromEntries(this.unexpected),
      counts: Object.fromEntries(this.counts),
    };
    [this.latencies, this.unexpected, this.counts] = [new Map(), new Map(), new Map()];
    return report;
  }
}

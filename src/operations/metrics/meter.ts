import { createRequire } from 'node:module';
import type * as promClient from 'prom-client';

// The index of prom-client loads OpenTelemetry's API, which must not be loaded unless traces are on.
// Its parts may move, so package.json names one exact version.
export const part = createRequire(import.meta.url);

const Counter = part('prom-client/lib/counter.js') as typeof promClient.Counter;
const Gauge = part('prom-client/lib/gauge.js') as typeof promClient.Gauge;
const Histogram = part('prom-client/lib/histogram.js') as typeof promClient.Histogram;
export const Registry = part('prom-client/lib/registry.js') as typeof promClient.Registry;

export class Meter {
  readonly registry = new Registry();
  private readonly registers = [this.registry];

  counter<Label extends string>(
    name: string,
    help: string,
    ...labelNames: Label[]
  ): promClient.Counter<Label> {
    return new Counter({ name, help, labelNames, registers: this.registers });
  }

  histogram<Label extends string>(
    name: string,
    help: string,
    buckets: number[],
    ...labelNames: Label[]
  ): promClient.Histogram<Label> {
    return new Histogram({ name, help, buckets, labelNames, registers: this.registers });
  }

  /** Creates a gauge that is read at each scrape. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void {
    const gauge: promClient.Gauge = new Gauge({
      name,
      help,
      registers: this.registers,
      collect: async () => gauge.set(await read()),
    });
  }

  /** Creates a gauge with a label. @param collect sets it at each scrape */
  labelledGauge<Label extends string>(
    name: string,
    help: string,
    label: Label,
    collect: (this: promClient.Gauge<Label>) => void = () => undefined,
  ): promClient.Gauge<Label> {
    return new Gauge({ name, help, labelNames: [label], registers: this.registers, collect });
  }

  /** Creates a counter that is read at each scrape: something else counts, since the start of the process. */
  total(name: string, help: string, read: () => number): void {
    const counter: promClient.Counter = new Counter({
      name,
      help,
      registers: this.registers,
      collect: () => {
        counter.reset();
        counter.inc(read());
      },
    });
  }
}

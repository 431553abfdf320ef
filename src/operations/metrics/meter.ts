import { Counter, Gauge, Histogram, Registry } from './prom-client.js';

/** Creates the metrics of one registry. */
export class Meter {
  readonly registry = new Registry();

  counter<Label extends string>(name: string, help: string, ...labelNames: Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  histogram<Label extends string>(
    name: string,
    help: string,
    buckets: number[],
    ...labelNames: Label[]
  ): Histogram<Label> {
    return new Histogram({ name, help, buckets, labelNames, registers: [this.registry] });
  }

  /** Creates a gauge that is read at each scrape. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void {
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers: [],
      collect: async () => gauge.set(await read()),
    });
    this.registry.registerMetric(gauge);
  }

  /** Creates a counter that is read at each scrape: something else counts, since the start of the process. */
  total(name: string, help: string, read: () => number): void {
    const counter = new Counter({
      name,
      help,
      registers: [],
      collect() {
        this.reset();
        this.inc(read());
      },
    });
    this.registry.registerMetric(counter);
  }
}

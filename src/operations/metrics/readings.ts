import { Counter, Gauge, type Registry } from './prom-client.js';

/** A gauge that is read whenever metrics are asked for. */
export function gaugeOf(
  registry: Registry,
  name: string,
  help: string,
  read: () => number | Promise<number>,
): void {
  const gauge: Gauge = new Gauge({
    name,
    help,
    registers: [],
    collect: async (): Promise<void> => gauge.set(await read()),
  });
  registry.registerMetric(gauge);
}

/** A counter that is counted elsewhere, since the start of the process. */
export function counterOf(registry: Registry, name: string, help: string, read: () => number): void {
  const counter = new Counter({
    name,
    help,
    registers: [],
    collect() {
      this.reset();
      this.inc(read());
    },
  });
  registry.registerMetric(counter);
}

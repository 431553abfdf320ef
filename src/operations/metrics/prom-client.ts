import { createRequire } from 'node:module';
import type * as promClient from 'prom-client';

// The index of prom-client loads OpenTelemetry's API, which must not be loaded unless traces are on (contract §2).
// Its parts may move, so package.json names one exact version.
const part = createRequire(import.meta.url);

export const Registry = part('prom-client/lib/registry.js') as typeof promClient.Registry;
export const Counter = part('prom-client/lib/counter.js') as typeof promClient.Counter;
export const Gauge = part('prom-client/lib/gauge.js') as typeof promClient.Gauge;
export const Histogram = part('prom-client/lib/histogram.js') as typeof promClient.Histogram;

export type Registry = promClient.Registry;
export type Counter<Label extends string = string> = promClient.Counter<Label>;
export type Gauge<Label extends string = string> = promClient.Gauge<Label>;
export type Histogram<Label extends string = string> = promClient.Histogram<Label>;

/** All default metrics except the CPU time, which needs OpenTelemetry's API, and the numbers of handles. */
const DEFAULT_METRICS = [
  'processStartTime',
  'osMemoryHeap',
  'processOpenFileDescriptors',
  'processMaxFileDescriptors',
  'eventLoopLag',
  'heapSizeAndUsed',
  'heapSpacesSizeAndUsed',
  'version',
  'gc',
];

/** Interval of the event-loop measurement, in milliseconds. */
const PRECISION_MS = 20;

type Collect = (registry: Registry, config: { readonly eventLoopMonitoringPrecision: number }) => void;

/** Registers prom-client's metrics of Node.js and of the process. */
export function collectDefaultMetrics(registry: Registry): void {
  for (const name of DEFAULT_METRICS) {
    const collect = part(`prom-client/lib/metrics/${name}.js`) as Collect;
    collect(registry, { eventLoopMonitoringPrecision: PRECISION_MS });
  }
}

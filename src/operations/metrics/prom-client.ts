import { createRequire } from 'node:module';
import type * as promClient from 'prom-client';

/**
 * prom-client part by part: its index loads OpenTelemetry's API as well, for something that is not used here, and without the
 * variables for traces none of that code is loaded (contract §2). Its parts may move, so package.json names one exact version.
 */
const part = createRequire(import.meta.url);

export const Registry = part('prom-client/lib/registry.js') as typeof promClient.Registry;
export const Counter = part('prom-client/lib/counter.js') as typeof promClient.Counter;
export const Gauge = part('prom-client/lib/gauge.js') as typeof promClient.Gauge;
export const Histogram = part('prom-client/lib/histogram.js') as typeof promClient.Histogram;

export type Registry = promClient.Registry;
export type Gauge = promClient.Gauge;
export type Histogram = promClient.Histogram;

/** What `collectDefaultMetrics` collects, but for the CPU time, whose part is the one that loads OpenTelemetry, and counts of handles. */
const OF_THE_PROCESS = [
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

/** How often the event loop is looked at, in milliseconds: fifty times a second costs a core 0.1 %. */
const LOOK_EVERY_MS = 20;

type Collect = (registry: Registry, config: { readonly eventLoopMonitoringPrecision: number }) => void;

/** prom-client's metrics of Node.js and of the process; they are watched until the process ends, and do not keep it alive. */
export function collectDefaultMetrics(registry: Registry): void {
  for (const name of OF_THE_PROCESS) {
    const collect = part(`prom-client/lib/metrics/${name}.js`) as Collect;
    collect(registry, { eventLoopMonitoringPrecision: LOOK_EVERY_MS });
  }
}

import { Meter, part } from './meter.js';

const meter = new Meter();

/** Metrics of the process: one registry for all applications in it, empty before `watchProcess`. */
export const processRegistry = meter.registry;

/** prom-client's default metrics except CPU time, which needs OpenTelemetry's API, and numbers of handles. */
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

const PRECISION_MS = 20;

type Collect = (registry: typeof processRegistry, config: { eventLoopMonitoringPrecision: number }) => void;

/** Starts to observe event loop, garbage collection, memory, files and CPU, once per process. */
export function watchProcess(): void {
  for (const name of DEFAULT_METRICS) {
    const collect = part(`prom-client/lib/metrics/${name}.js`) as Collect;
    collect(processRegistry, { eventLoopMonitoringPrecision: PRECISION_MS });
  }
  meter.total('process_cpu_seconds_total', 'User and system CPU time in seconds.', () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
}

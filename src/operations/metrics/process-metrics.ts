import { Meter } from './meter.js';
import { collectDefaultMetrics } from './prom-client.js';

const meter = new Meter();

/** Metrics of the process: one registry for all applications in it, empty before `watchProcess`. */
export const processRegistry = meter.registry;

/** Starts to observe event loop, garbage collection, memory, file descriptors and CPU. To be called once per process. */
export function watchProcess(): void {
  collectDefaultMetrics(meter.registry);
  cpuSeconds('process_cpu_user_seconds_total', 'User CPU time in seconds.', ({ user }) => user);
  cpuSeconds('process_cpu_system_seconds_total', 'System CPU time in seconds.', ({ system }) => system);
  cpuSeconds(
    'process_cpu_seconds_total',
    'User and system CPU time in seconds.',
    ({ user, system }) => user + system,
  );
}

function cpuSeconds(name: string, help: string, microseconds: (usage: NodeJS.CpuUsage) => number): void {
  meter.total(name, help, () => microseconds(process.cpuUsage()) / 1e6);
}

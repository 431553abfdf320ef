import { collectDefaultMetrics, Registry } from './prom-client.js';
import { counterOf } from './readings.js';

/** Of the process, and so one for all applications in it; empty until they are asked for. */
export const processRegistry = new Registry();

/** Begins to watch the process: event loop, garbage, memory, files, CPU. Once, where the process starts. */
export function watchProcess(): void {
  collectDefaultMetrics(processRegistry);
  cpuSeconds('process_cpu_user_seconds_total', 'User CPU time in seconds.', ({ user }) => user);
  cpuSeconds('process_cpu_system_seconds_total', 'System CPU time in seconds.', ({ system }) => system);
  cpuSeconds(
    'process_cpu_seconds_total',
    'User and system CPU time in seconds.',
    ({ user, system }) => user + system,
  );
}

function cpuSeconds(name: string, help: string, microseconds: (usage: NodeJS.CpuUsage) => number): void {
  counterOf(processRegistry, name, help, () => microseconds(process.cpuUsage()) / 1e6);
}

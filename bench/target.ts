import type { Workload } from './options.js';

/** A process that is measured. */
export interface Target {
  readonly name: string;
  readonly pid: number;
  /** On 127.0.0.1. */
  readonly port: number;
  readonly workloads: readonly Workload[];
}

import type { Workload } from './options.js';
import type { Measured } from './turn.js';

/** A process, and what it is measured with. */
export interface Target extends Measured {
  readonly workloads: readonly Workload[];
}

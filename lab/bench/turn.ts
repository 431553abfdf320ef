import { cpuTime, cpuTimeOfFamily } from './cpu-time.js';
import type { LoadResult } from './load/run.js';

const WARM_UP_MS = 300;

/** What a target did in one turn. A request of W3 is a whole sign-in. */
export interface Turn {
  readonly requestsPerSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly serviceCpu: number | undefined;
  readonly databaseCpu: number | undefined;
}

/** A process that can be measured. */
export interface Measured {
  readonly name: string;
  readonly pid: number;
  /** On 127.0.0.1. */
  readonly port: number;
}

/** How a target is measured once. */
export interface TurnPlan {
  readonly databasePid: number;
  readonly milliseconds: number;
  tidy(): Promise<void>;
  /** @throws at an answer that is not as it should be. */
  run(target: Measured, milliseconds: number): Promise<LoadResult>;
}

/** Measures one target once, after a warm-up that does not count. */
export async function measure(target: Measured, plan: TurnPlan): Promise<Turn> {
  await plan.tidy();
  await plan.run(target, WARM_UP_MS);
  const cpu = () => ({ service: cpuTime(target.pid), database: cpuTimeOfFamily(plan.databasePid) });
  const before = cpu();
  const { count, seconds, p50, p99 } = await plan.run(target, plan.milliseconds);
  const after = cpu();
  return {
    requestsPerSecond: count / seconds,
    p50,
    p99,
    serviceCpu: perRequest(before.service, after.service, count),
    databaseCpu: perRequest(before.database, after.database, count),
  };
}

function perRequest(
  before: number | undefined,
  after: number | undefined,
  count: number,
): number | undefined {
  return before === undefined || after === undefined ? undefined : (after - before) / count;
}

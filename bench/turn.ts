import type { Client } from 'pg';
import { cpuTime, cpuTimeOfFamily } from './cpu-time.js';
import type { LoadGenerator } from './load-generator.js';
import type { HttpWorkload } from './options.js';
import type { Target } from './target.js';

const WARM_UP_MS = 300;

/** What a target did in one turn. A request of W3 is a whole sign-in. */
export interface Turn {
  readonly requestsPerSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** CPU µs per request; undefined where it cannot be measured. */
  readonly serviceCpu: number | undefined;
  readonly databaseCpu: number | undefined;
}

export interface Bench {
  readonly admin: Client;
  readonly databasePid: number;
  readonly generator: LoadGenerator;
}

export interface TurnLoad {
  readonly workload: HttpWorkload;
  readonly connections: number;
  readonly milliseconds: number;
}

/** Measures one target once, after a warm-up that does not count. */
export async function measure(bench: Bench, target: Target, load: TurnLoad): Promise<Turn> {
  const { port, pid } = target;
  await tidy(bench.admin, load.workload);
  await bench.generator.run({ ...load, port, milliseconds: WARM_UP_MS });
  const before = { service: cpuTime(pid), database: cpuTimeOfFamily(bench.databasePid) };
  const { count, seconds, p50, p99 } = await bench.generator.run({ ...load, port });
  const after = { service: cpuTime(pid), database: cpuTimeOfFamily(bench.databasePid) };
  return {
    requestsPerSecond: count / seconds,
    p50,
    p99,
    serviceCpu: perRequest(before.service, after.service, count),
    databaseCpu: perRequest(before.database, after.database, count),
  };
}

/** Gives every turn the same tables. The turns of W2 store nothing, and need the tokens that were stored before the first. */
async function tidy(admin: Client, workload: HttpWorkload): Promise<void> {
  if (workload !== 'W2') await sweep(admin);
  else await admin.query('CHECKPOINT');
}

/** Removes what earlier turns stored, and does the maintenance that this causes. */
export async function sweep(admin: Client): Promise<void> {
  await admin.query(`
    TRUNCATE access_tokens, authorization_states, floor.access_tokens, floor.authorization_states`);
  await admin.query('VACUUM users, devices, floor.users, floor.devices');
  await admin.query('CHECKPOINT');
}

function perRequest(
  before: number | undefined,
  after: number | undefined,
  count: number,
): number | undefined {
  return before === undefined || after === undefined ? undefined : (after - before) / count;
}

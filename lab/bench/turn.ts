import { cpuTime } from './cpu-time.js';
import type { LoadResult } from './load/run.js';

const WARM_UP_MS = 300;

/** What a target did in one turn. A request of W3 is a whole sign-in. */
export interface Turn {
  readonly requestsPerSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** µs a request; NaN except on Linux. */
  readonly serviceCpu: number;
  readonly databaseCpu: number;
}

/** The same of W4. */
export interface SocketTurn {
  readonly connectsPerSecond: number;
  readonly messagesPerSecond: number;
  /** KiB per connection; NaN except on Linux. */
  readonly memory: number;
  /** CPU µs of the target, per connection and per message. */
  readonly connectCpu: number;
  readonly messageCpu: number;
}

/** A process that can be measured. */
export interface Measured {
  readonly name: string;
  readonly pid: number;
  /** On 127.0.0.1. */
  readonly port: number;
}

/** How a target is measured once. */
export interface TurnPlan<Target extends Measured> {
  readonly databasePid: number;
  readonly seconds: number;
  tidy?(): Promise<void>;
  /** @throws at an answer that is not as it should be. */
  run(target: Target, milliseconds: number): Promise<LoadResult>;
}

/** Measures one target once, after a warm-up that does not count. */
export async function measure<Target extends Measured>(
  target: Target,
  plan: TurnPlan<Target>,
): Promise<Turn> {
  await plan.tidy?.();
  await plan.run(target, WARM_UP_MS);
  const cpu = () => [cpuTime(target.pid), cpuTime(plan.databasePid)] as const;
  const [service, database] = cpu();
  const { count, seconds, p50, p99 } = await plan.run(target, plan.seconds * 1000);
  const [serviceAfter, databaseAfter] = cpu();
  return {
    requestsPerSecond: count / seconds,
    p50,
    p99,
    serviceCpu: (serviceAfter - service) / count,
    databaseCpu: (databaseAfter - database) / count,
  };
}

/** The turns of one target, in the order of the rounds. */
export interface TargetTurns<OfKind> {
  readonly target: string;
  readonly turns: readonly OfKind[];
}

/** Each round gives each target a turn, and begins with another target: none profits from its place in the order. */
export async function interleave<Target extends { readonly name: string }, OfKind>(
  targets: readonly Target[],
  rounds: number,
  take: (target: Target, round: number) => Promise<OfKind>,
): Promise<TargetTurns<OfKind>[]> {
  const turns = new Map(targets.map((target) => [target, [] as OfKind[]]));
  for (let round = 0; round < rounds; round++) {
    const first = round % targets.length;
    for (const target of [...targets.slice(first), ...targets.slice(0, first)]) {
      turns.get(target)!.push(await take(target, round));
    }
  }
  return [...turns].map(([{ name }, all]) => ({ target: name, turns: all }));
}

import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Cleanup } from '../../bench/cleanup.js';
import { nextMessage } from '../../bench/child.js';
import type { Start } from './clients/main.js';
import type { Report } from './clients/tally.js';
import { Instance, rotateKeys } from './instance.js';
import { allowedOf, type Allowed, type Limit } from './limits.js';
import { residentsOf, type Residents } from './residents.js';
import { Sampler } from './sampler.js';
import type { Sample } from './series.js';
import { LIVES, REMOVED_WITHIN, SERVICE_KEY, settingsOf } from './settings.js';
import { leak, shortenKeys } from './triggers.js';

export interface SoakOptions {
  readonly databaseUrl: string;
  /** Undefined: without. */
  readonly redisUrl: string | undefined;
  /** For logs. */
  readonly directory: string;
  readonly minutes: number;
  readonly users: number;
  /** How many newcomers there are before the first of them has to go. */
  readonly stay: number;
  readonly perSecond: number;
  /** By those who go beyond limits. */
  readonly beyondPerSecond: number;
  /** Requests a minute: each of the service's limits. */
  readonly limit: number;
  readonly sockets: number;
  readonly sampleEveryMs: number;
  /** Latencies are told for each. */
  readonly windowMinutes: number;
  /** The clients go on until the reports are enough, for a minute at most: a busy machine delays them. */
  readonly isEnough?: (reports: readonly Report[]) => boolean;
  /** Whether to wait until everything has expired. */
  readonly untilExpired: boolean;
  /** A table that is given a leak: one in so many of its rows is not removed. */
  readonly leak?: { readonly table: string; readonly oneIn: number } | undefined;
  /** Receives a line now and then. */
  readonly log: (line: string) => void;
}

/** What was seen. */
export interface Recording {
  /** Before the first client, and after the last when everything had time to expire. */
  readonly before: Sample;
  readonly after: Sample;
  /** While clients went on. */
  readonly samples: readonly Sample[];
  /** One for each window. */
  readonly reports: readonly Report[];
  /** What went wrong in the log of an instance. */
  readonly errors: readonly string[];
  readonly exitCodes: readonly (number | null)[];
  /** How often the signing key was rotated. */
  readonly rotations: number;
  /** What may be let through of those who go beyond limits. */
  readonly allowed: Readonly<Record<Limit, Allowed>>;
  readonly residents: Residents;
  readonly hasRedis: boolean;
}

const ROTATE_EVERY_MINUTES = 10; // a new key signs ten minutes later, and until then no other is made (contract §5)
/** Who has signed out is remembered for so long, so that every instance and every other service hears of it (token/session.sql.ts). */
const SIGNED_OUT_KEPT_S = 600;
const AFTER_CLIENTS_MS = 2000;

/** Two instances, clients who do everything that clients do at a steady rate, and a look at everything now and then. */
export async function soak(options: SoakOptions, cleanup: Cleanup): Promise<Recording> {
  const { databaseUrl, redisUrl, directory, minutes, log } = options;
  const port = await nextMessage<number>(startChild('./provider.ts', cleanup));
  const provider = `http://127.0.0.1:${port}`;
  const env = settingsOf(options, provider);
  const instances: Instance[] = [];
  for (const name of ['a', 'b']) {
    const instance = await Instance.start(name, directory, env);
    cleanup.add(async () => void (await instance.stop()));
    instances.push(instance);
  }
  await shortenKeys(databaseUrl);
  if (options.leak) await leak(databaseUrl, options.leak.table, options.leak.oneIn);
  const sampler = await Sampler.start(instances, databaseUrl, redisUrl, SERVICE_KEY);
  cleanup.add(() => sampler.end());
  const before = await sampler.sample();

  const clients = startChild('./clients/main.ts', cleanup);
  const urls = instances.map(({ url }) => url);
  const { users, stay, perSecond, beyondPerSecond, sockets } = options;
  const started = nextMessage(clients);
  clients.send({
    do: 'start',
    urls,
    provider,
    serviceKey: SERVICE_KEY,
    lives: LIVES,
    users,
    stay,
    perSecond,
    beyondPerSecond,
    sockets,
  } satisfies Start);
  await started;
  const samples: Sample[] = [];
  const reports: Report[] = [];
  const endsAt = performance.now() + minutes * 60_000;
  let windowEnds = performance.now() + options.windowMinutes * 60_000;
  let rotateAt = performance.now();
  let rotations = 0;
  while (performance.now() < endsAt) {
    await delay(Math.min(options.sampleEveryMs, endsAt - performance.now()));
    samples.push(await sampler.sample());
    if (performance.now() >= rotateAt) {
      rotateAt += ROTATE_EVERY_MINUTES * 60_000;
      await rotateKeys(env);
      rotations++;
    }
    if (performance.now() < windowEnds || endsAt - performance.now() < options.sampleEveryMs) continue;
    windowEnds += options.windowMinutes * 60_000;
    reports.push(await ask(clients, { do: 'report' }));
    log(`${samples.at(-1)!.minutes.toFixed(0)} minutes: ${JSON.stringify(reports.at(-1)!.unexpected)}`);
  }
  const latest = performance.now() + 60_000;
  while (options.isEnough && performance.now() < latest) {
    reports.push(await ask(clients, { do: 'report' }));
    if (options.isEnough(reports)) break;
    await delay(options.sampleEveryMs);
    samples.push(await sampler.sample());
  }
  reports.push(await ask(clients, { do: 'stop' }));
  const expired = (Math.max(LIVES.refresh + LIVES.access, SIGNED_OUT_KEPT_S) + REMOVED_WITHIN) * 1000;
  await delay(options.untilExpired ? expired : AFTER_CLIENTS_MS);
  const after = await sampler.sample();
  const exitCodes = await Promise.all(instances.map((instance) => instance.stop()));
  return {
    before,
    after,
    samples,
    reports,
    exitCodes,
    rotations,
    errors: instances.flatMap(({ errors }) => errors),
    allowed: allowedOf(options.limit, redisUrl !== undefined),
    residents: residentsOf(users),
    hasRedis: redisUrl !== undefined,
  };
}

/** A script in a process of its own, which ends with the run. */
function startChild(script: string, cleanup: Cleanup): ChildProcess {
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), [], { execArgv: ['--import', 'tsx'] });
  cleanup.add(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.disconnect();
    await exited;
  });
  return child;
}

async function ask(clients: ChildProcess, order: object): Promise<Report> {
  const answered = nextMessage<Report>(clients);
  clients.send(order);
  return answered;
}

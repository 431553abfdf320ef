import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Cleanup } from '../../bench/cleanup.js';
import { nextMessage } from '../../bench/child.js';
import type { Start } from './clients/main.js';
import type { Report } from './clients/tally.js';
import { Instance, rotateKeys } from './instance.js';
import { Sampler } from './sampler.js';
import type { Sample } from './series.js';

export interface SoakOptions {
  readonly databaseUrl: string;
  /** Undefined: without. */
  readonly redisUrl: string | undefined;
  /** For logs. */
  readonly directory: string;
  readonly minutes: number;
  readonly users: number;
  readonly perSecond: number;
  readonly sockets: number;
  readonly sampleEveryMs: number;
  /** Latencies are told for each. */
  readonly windowMinutes: number;
  /** Whether to wait until everything has expired. */
  readonly untilExpired: boolean;
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
}

/** Seconds: so short that within minutes each table is as full as it gets, and removal works all the time. */
const LIVES = { access: 90, refresh: 180, state: 60 };
const ROTATE_EVERY_MINUTES = 10; // a new key signs ten minutes later, and until then no other is made (contract §5)
/** Who has signed out is remembered for so long, so that every instance and every other service hears of it (token/session.sql.ts). */
const SIGNED_OUT_KEPT_S = 600;
const REMOVED_WITHIN_S = 75; // a minute (contract §5), and what a busy machine takes
const AFTER_CLIENTS_MS = 2000;
const SERVICE_KEY = 'the-service-key-of-the-soak-with-all-rights';

/** Two instances, clients who do everything that clients do at a steady rate, and a look at everything now and then. */
export async function soak(options: SoakOptions, cleanup: Cleanup): Promise<Recording> {
  const { databaseUrl, redisUrl, directory, minutes, log } = options;
  const provider = startChild('../../bench/stub-provider.ts', cleanup);
  const env = settings(databaseUrl, redisUrl, await nextMessage<number>(provider));
  const instances: Instance[] = [];
  for (const name of ['a', 'b']) {
    const instance = await Instance.start(name, directory, env);
    cleanup.add(async () => void (await instance.stop()));
    instances.push(instance);
  }
  const sampler = await Sampler.start(instances, databaseUrl, redisUrl, SERVICE_KEY);
  cleanup.add(() => sampler.end());
  const before = await sampler.sample();

  const clients = startChild('./clients/main.ts', cleanup);
  const urls = instances.map(({ url }) => url);
  const { users, perSecond, sockets } = options;
  clients.send({
    do: 'start',
    urls,
    serviceKey: SERVICE_KEY,
    lives: LIVES,
    users,
    perSecond,
    sockets,
  } satisfies Start);
  const samples: Sample[] = [];
  const reports: Report[] = [];
  const endsAt = performance.now() + minutes * 60_000;
  let windowEnds = performance.now() + options.windowMinutes * 60_000;
  let rotateAt = performance.now();
  while (performance.now() < endsAt) {
    await delay(Math.min(options.sampleEveryMs, endsAt - performance.now()));
    samples.push(await sampler.sample());
    if (performance.now() >= rotateAt) {
      rotateAt += ROTATE_EVERY_MINUTES * 60_000;
      await rotateKeys(env);
    }
    if (performance.now() < windowEnds || endsAt - performance.now() < options.sampleEveryMs) continue;
    windowEnds += options.windowMinutes * 60_000;
    reports.push(await ask(clients, { do: 'report' }));
    log(`${samples.at(-1)!.minutes.toFixed(0)} minutes: ${JSON.stringify(reports.at(-1)!.unexpected)}`);
  }
  reports.push(await ask(clients, { do: 'stop' }));
  const expired = (Math.max(LIVES.refresh + LIVES.access, SIGNED_OUT_KEPT_S) + REMOVED_WITHIN_S) * 1000;
  await delay(options.untilExpired ? expired : AFTER_CLIENTS_MS);
  const after = await sampler.sample();
  const exitCodes = await Promise.all(instances.map((instance) => instance.stop()));
  return { before, after, samples, reports, errors: instances.flatMap(({ errors }) => errors), exitCodes };
}

function settings(
  databaseUrl: string,
  redisUrl: string | undefined,
  providerPort: number,
): Record<string, string> {
  return {
    NODE_ENV: 'production',
    DATABASE_URL: databaseUrl,
    ...(redisUrl !== undefined && { REDIS_URL: redisUrl }),
    SECRET_KEY: '5e'.repeat(32),
    PUBLIC_URL: 'http://localhost:3000',
    REDIRECT_URIS: 'https://app.example/callback',
    TRUST_PROXY: 'loopback',
    SERVICE_KEYS: SERVICE_KEY,
    ACCESS_TOKEN_TTL: String(LIVES.access),
    REFRESH_TOKEN_TTL: String(LIVES.refresh),
    STATE_TTL: String(LIVES.state),
    CHANNEL_HISTORY: '20',
    LOG_LEVEL: 'warn',
    PROVIDERS_STUB_URL: `http://127.0.0.1:${providerPort}`,
    PROVIDERS_STUB_CLIENT_ID: 'latchkey',
    PROVIDERS_STUB_CLIENT_SECRET: 'a client secret of the stub',
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

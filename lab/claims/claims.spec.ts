import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { ChangedClaims } from '../../packages/server/src/feed/changed-claims.js';
import { StreamConnection } from '../../packages/server/src/feed/stream-connection.js';
import { Random } from '../../test/support/random.js';
import { Calls } from '../histories/calls.js';
import { Recorder } from '../histories/recorder.js';
import { options, report } from '../options.js';
import { strike } from '../world/faults.js';
import { World } from '../world/world.js';
import { startApi, type Api } from './api.js';
import { check } from './rules.js';
import { User } from './user.js';

const { minutes, seed, out } = options;
const rounds = minutes ?? 1;
const CACHE = join(import.meta.dirname, '../../node_modules/.cache/latchkey');
const LOOK_EVERY_MS = 60;

/** `pauseMs`: mean pause between two changes of a user. */
type Plan = Readonly<Record<'instances' | 'users' | 'changes' | 'pauseMs', number>>;
const WHOLE: Plan = { instances: 3, users: 20, changes: 1000 * rounds, pauseMs: 800 };
const SHORT: Plan = { instances: 2, users: 8, changes: 80, pauseMs: 400 };
const FAULTS = ['service-killed', 'postgres-frozen'] as const;

/** Breaks parts, with calm times between; the short plan only cuts an API off from the feed. */
async function disturb(world: World, recorder: Recorder, api: Api, plan: Plan): Promise<void> {
  const random = new Random(seed);
  const cutOff = async (milliseconds: number): Promise<void> => {
    const begun = performance.now();
    await api.cutOff(milliseconds);
    recorder.record({ kind: 'fault', fault: 'feed-cut', target: 'API 2', begun, ended: performance.now() });
  };
  if (plan === SHORT) return cutOff(5000);
  for (let round = 0; round < rounds; round++) {
    await delay(8000);
    await cutOff(10_000);
    for (const fault of FAULTS) {
      await delay(7000);
      recorder.record(await strike(world, fault, random));
    }
  }
}

/** Users change their claims, and look at all places that show them. */
async function run(path: string, env: Record<string, string>, plan: Plan) {
  const { instances, users, changes, pauseMs } = plan;
  mkdirSync(CACHE, { recursive: true });
  const recorder = new Recorder(path);
  const world = await World.start({ redis: false, instances, env });
  try {
    const apis: Api[] = [await startApi(world, 0), await startApi(world, 1)];
    const calls = new Calls([...world.urls, ...apis.map(({ url }) => url)]);
    let [n, isDisturbed, isOver] = [0, true, false];
    const shared = { world, calls, recorder, next: () => ++n, seed };
    const all = await Promise.all(Array.from({ length: users }, (_, i) => User.signIn(shared, i)));
    const listening = all.map(({ listener }) => listener.run());
    while (all.some(({ listener }) => !listener.position)) await delay(20);
    const looking = all.map((user) => user.look(() => isOver, LOOK_EVERY_MS));
    const changing = all.map((user) => user.change(() => isOver || (!isDisturbed && n >= changes), pauseMs));
    try {
      await disturb(world, recorder, apis[1]!, plan);
      isDisturbed = false;
      await Promise.all(changing);
      await delay(3000); // the last events
    } finally {
      isOver = true;
      for (const { listener } of all) listener.stop();
      await Promise.all([...looking, ...changing, ...listening]);
      await calls.close();
      await Promise.all(apis.map((api) => api.close()));
    }
  } finally {
    await world.stop();
    await recorder.close();
  }
  return { ...check(recorder.entries), recorder };
}

/** Faults in the SQL of the service (plant.mjs), or in the verifier of the APIs, and a rule that each breaks. */
const PLANTED: readonly { fault: string; rule: string; plant?: () => unknown }[] = [
  { fault: 'PUT merges', rule: 'claims that never were at /me' },
  { fault: 'refresh without version', rule: 'old claims at refresh' },
  { fault: 'feed drops a change', rule: 'old claims at API 1' },
  { fault: 'channel drops an event', rule: 'event missing at socket' },
  {
    fault: 'verifier ignores the feed',
    rule: 'old claims at API 1',
    plant: () => jest.spyOn(ChangedClaims.prototype, 'replacing').mockReturnValue(undefined),
  },
  {
    fault: 'verifier trusts a silent feed',
    rule: 'old claims at API 2',
    plant: () => jest.spyOn(StreamConnection.prototype, 'isFresh', 'get').mockReturnValue(true),
  },
];

describe('changes of claims', () => {
  afterEach(() => jest.restoreAllMocks());

  it('are seen everywhere in time, each as a whole', async () => {
    const path = out ?? join(CACHE, `claims-${seed}.jsonl`);
    const { violations, delays, changes, recorder } = await run(path, {}, WHOLE);
    report('history; seed', `${path}; ${seed}`);
    report('changes; operations', `${changes}; ${recorder.operations}`);
    for (const [at, { calm, stalls }] of delays) report(at, `calm ${spread(calm)}; stalls ${spread(stalls)}`);
    report('violations', violations.length);
    const shown = violations.slice(0, 10).map((one) => JSON.stringify(one));
    if (shown.length > 0) throw new Error(`seed ${seed}, ${path}:\n${shown.join('\n')}`);
  });

  (minutes ? it.skip : it).each(PLANTED)('show a planted fault: $fault', async ({ fault, rule, plant }) => {
    plant?.();
    const preload = `--import=${new URL('plant.mjs', import.meta.url).href}`;
    const env: Record<string, string> = plant ? {} : { LAB_FAULT: fault, NODE_OPTIONS: preload };
    const { violations } = await run(join(CACHE, 'claims-planted.jsonl'), env, SHORT);
    const found = violations.filter((one) => one.rule === rule).length;
    report(fault, `${rule}: ${found} of ${violations.length} violations`);
    expect(found).toBeGreaterThan(0);
  });
});

function spread(all: readonly number[]): string {
  const sorted = all.toSorted((a, b) => a - b);
  const at = (share: number): string => `${sorted[Math.ceil(sorted.length * share) - 1]?.toFixed(0)}`;
  return `${sorted.length}: p50 ${at(0.5)}, p99 ${at(0.99)}, p99.9 ${at(0.999)}, max ${at(1)} ms`;
}

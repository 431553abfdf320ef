import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { needs } from '../../test/support/installed.js';
import { Random } from '../../test/support/random.js';
import { hasRedis } from '../../test/support/redis-server.js';
import { options, report } from '../options.js';
import { World } from '../world/world.js';
import { editedPrograms } from './agents/edits-of-programs.js';
import { programsOf } from './agents/figures.js';
import { programEnv } from './agents/program.js';
import { check } from './checker.js';
import { editedMerges } from './edits-of-merges.js';
import { edited, editedWithLimits } from './edits.js';
import { LIMITS, toEnv } from './limits.js';
import type { Merge } from './operation.js';
import { planFaults } from './plan.js';
import { PLANTED_STATEMENTS, PLANTS } from './plants.js';
import { Recorder } from './recorder.js';
import { runHistory, type RunOptions } from './run.js';
import type { Violation } from './violation.js';

const { minutes, seed, out } = options;
const MOST_SHOWN = 10;
/** Histories until one shows a planted fault: on a busy machine, calls are rarely concurrent. */
const TRIES = 10;
const CACHE = join(import.meta.dirname, '../../node_modules/.cache/latchkey');
/** No event is removed during a run. Tokens expire. */
const ENV = { ACCESS_TOKEN_TTL: minutes ? '600' : '15', CHANNEL_HISTORY: '1000000', ...programEnv() };
/** What reads sessions that have ended, and claims that have changed. */
const ANSWERS = ['use', 'introspect', 'verify', 'refresh'];
const READERS = ['feed', 'socket', 'delivery', ...ANSWERS, ...ANSWERS.map((one) => `claims, ${one}`)];
/** What shows merges to be whole; in the half with Redis. */
const MERGED = ['sign-ins after a merge', 'calls of former users', 'pushes to former users'];
/** What shows programs to end, and to be kept out of the application. */
const ENDED = [
  ...['refresh', 'introspect', 'verify'].map((call) => `${call} of programs after their end`),
  ...['/me', '/oauth2/refresh', 'socket'].map((at) => `programs refused at ${at}`),
];

const SHORT: RunOptions = {
  seed,
  people: 18,
  users: 6,
  couples: 2,
  programs: 3,
  pauseMs: 60,
  faults: ['service-killed', 'feed-cut', 'postgres-killed', 'redis-cut-from-all'],
  seconds: 40,
  level: 8,
};
const WITH_LIMITS: RunOptions = {
  ...SHORT,
  users: 9,
  couples: 0,
  programs: 0,
  faults: ['service-killed', 'feed-cut', 'postgres-killed'],
  limits: LIMITS,
};
const PLANTED: RunOptions = { ...SHORT, couples: 0, programs: 0, pauseMs: 20, seconds: 6, level: 0 };
/** Each user has one client, which knows all sessions of the user. */
const PLANTED_WITH_LIMITS: RunOptions = {
  ...PLANTED,
  people: 9,
  users: 9,
  seconds: 15,
  faults: [],
  limits: LIMITS,
};
const PLANTED_OF = {
  merges: { ...PLANTED, people: 2, users: 2, couples: 3, faults: [] },
  programs: { ...PLANTED, people: 2, users: 2, programs: 2, faults: [], seconds: 4 },
} satisfies Record<string, RunOptions>;

/** One half of a long run, with Redis or with limits; its last quarter is without faults. */
function long(duration: number, redis: boolean): RunOptions {
  const faults = planFaults(duration, redis, new Random(seed));
  return {
    ...(redis ? SHORT : WITH_LIMITS),
    people: 36,
    users: redis ? 12 : 18,
    pauseMs: 300,
    faults,
    seconds: duration * 22.5,
    level: duration * 7.5,
  };
}

mkdirSync(CACHE, { recursive: true });

const textOf = ({ rule, text }: Violation): string => `${rule}: ${text}`;

/** Clients use three instances while a nemesis kills, freezes and cuts; then a checker looks for violations. */
needs({ Linux: process.platform === 'linux', 'redis-server': hasRedis }).describe(
  'recorded histories',
  () => {
    afterEach(() => jest.restoreAllMocks());

    it.each([
      ['with Redis', true],
      ['with idle time and MAX_SESSIONS', false],
    ])('have no violation %s', async (name, redis) => {
      const path = (out ?? join(CACHE, `history-${seed}.jsonl`)).replace(
        /(?=\.\w+$|$)/,
        redis ? '' : '-limits',
      );
      const limits = redis ? undefined : LIMITS;
      const recorder = new Recorder(path);
      const world = await World.start({ redis, env: { ...ENV, ...(limits && toEnv(limits)) } });
      try {
        const short = limits ? WITH_LIMITS : SHORT;
        await runHistory(world, recorder, minutes ? long(minutes, redis) : short);
      } finally {
        await world.stop();
        await recorder.close();
      }
      const { violations, checked } = check(recorder.entries, limits);
      report(`history ${name}`, path);
      report('seed; operations', `${seed}; ${recorder.operations.toLocaleString('en')}`);
      report('entries by kind', [...recorder.counts].map(([kind, count]) => `${kind} ${count}`).join(', '));
      if (!limits) report('merges', mergesOf(recorder));
      if (!limits) report('programs', programsOf(recorder.entries));
      report('pauses of the machine', pausesOf(recorder));
      const { afterEnd, latest, ...others } = checked;
      report('checked after an end or a change', JSON.stringify(afterEnd));
      report('latest, in ms', JSON.stringify(latest));
      report('checked besides', JSON.stringify(others));
      report('violations', violations.length);
      const shown = violations.slice(0, MOST_SHOWN).map(({ entries, ...one }) => {
        return [textOf({ entries, ...one }), ...entries.map((entry) => `    ${JSON.stringify(entry)}`)].join(
          '\n',
        );
      });
      if (shown.length > 0) throw new Error(`seed ${seed}, ${path}:\n${shown.join('\n')}`);
      const wanted = [...READERS, ...(limits ? [] : [...MERGED, ...ENDED])];
      expect(Object.keys({ ...afterEnd, ...checked.counts })).toEqual(expect.arrayContaining(wanted));
      if (minutes) return;
      const { entries } = recorder;
      const edits = limits
        ? editedWithLimits(entries, limits)
        : [...edited(entries), ...editedMerges(entries), ...editedPrograms(entries)];
      for (const one of edits) {
        const found = check(one.entries, one.limits).violations.map(textOf);
        expect(found).toContainEqual(expect.stringMatching(one.finds));
      }
    });
  },
);

/** A history of two instances, with a fault that the checker has to find. */
describe('a planted fault', () => {
  let world: World;
  beforeAll(async () => {
    world = await World.start({ redis: false, instances: 2, env: ENV });
  });
  afterAll(() => world?.stop());
  afterEach(() => jest.restoreAllMocks());

  it.each(PLANTS.map((plant, i) => [plant.name, plant, i] as const))(
    'is found: %s',
    async (name, plant, i) => {
      plant.spy?.();
      let found: string[] = [];
      const isFound = (): boolean => found.some((text) => plant.finds.test(text));
      for (let tried = 0; !isFound() && tried < TRIES; tried++) {
        const recorder = new Recorder(join(CACHE, 'history-planted.jsonl'));
        const scenario = { ...PLANTED, faults: plant.faults ?? [], seed: seed + 1 + i + 10 * tried };
        try {
          await runHistory(world, recorder, scenario, plant);
        } finally {
          await recorder.close();
        }
        found = check(recorder.entries).violations.map(textOf);
      }
      report(name, `${found.filter((text) => plant.finds.test(text)).length} of ${found.length} violations`);
      expect(found).toContainEqual(expect.stringMatching(plant.finds));
    },
  );
});

/** A history with a fault in a statement of the service. */
describe('a fault planted in a statement', () => {
  it.each(PLANTED_STATEMENTS.map((plant, i) => [plant.name, plant, i] as const))(
    'is found: %s',
    async (name, { finds, sql, of }, i) => {
      const limits = of ? undefined : LIMITS;
      const scenario = of ? PLANTED_OF[of] : PLANTED_WITH_LIMITS;
      const NODE_OPTIONS = `--import=${new URL('rewrite-sql.mjs', import.meta.url).href}`;
      const planted = { NODE_OPTIONS, PLANTED_SQL: JSON.stringify(sql) };
      const world = await World.start({
        redis: false,
        instances: 2,
        env: { ...ENV, ...(limits && toEnv(limits)), ...planted },
      });
      let found: string[] = [];
      const isFound = (): boolean => found.some((text) => finds.test(text));
      try {
        for (let tried = 0; !isFound() && tried < TRIES; tried++) {
          const recorder = new Recorder(join(CACHE, 'history-planted.jsonl'));
          await runHistory(world, recorder, { ...scenario, seed: seed + i + 10 * tried });
          await recorder.close();
          found = check(recorder.entries, limits).violations.map(textOf);
        }
      } finally {
        await world.stop();
      }
      report(name, `${found.filter((text) => finds.test(text)).length} of ${found.length} violations`);
      expect(found).toContainEqual(expect.stringMatching(finds));
    },
  );
});

function mergesOf({ entries }: Recorder): string {
  const merges = entries.filter((entry) => entry.kind === 'merge');
  const numberOf = (step: Merge['step'], outcome: Merge['outcome']): number =>
    merges.filter((one) => one.step === step && one.outcome === outcome).length;
  const [done, refused, unknown] = (['ok', 'refused', 'unknown'] as const).map((one) =>
    numberOf('merge', one),
  );
  return `${done} done, ${refused} refused, ${unknown} without an answer; ${numberOf('prove', 'ok')} found done by a proof`;
}

function pausesOf({ entries }: Recorder): string {
  const stalls = entries.filter((entry) => entry.kind === 'stall');
  const longest = Math.max(0, ...stalls.map(({ begun, ended }) => ended - begun));
  return `${stalls.length}, the longest ${longest.toFixed(0)} ms`;
}

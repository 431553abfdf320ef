import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { needs } from '../../test/support/installed.js';
import { Random } from '../../test/support/random.js';
import { hasRedis } from '../../test/support/redis-server.js';
import { options, report } from '../options.js';
import { World } from '../world/world.js';
import { check } from './checker.js';
import { lies } from './lies.js';
import { planFaults } from './plan.js';
import { Recorder } from './recorder.js';
import { runHistory, type RunOptions } from './run.js';

const { minutes, seed, out } = options;
const MOST_SHOWN = 10;
const CACHE = join(import.meta.dirname, '../../node_modules/.cache/latchkey');
/** The second of the rules, with room for a busy machine; the short form says nothing about speed. */
const PATIENCE = minutes
  ? { socketsMs: 3000, keysMs: 1500, deliveredMs: 3000 }
  : { socketsMs: 5000, keysMs: 5000, deliveredMs: 5000 };
/** No token expires and no event is removed during a run. */
const ENV = { ACCESS_TOKEN_TTL: '14400', CHANNEL_HISTORY: '1000000' };

const SHORT: RunOptions = {
  seed,
  people: 18,
  users: 6,
  pauseMs: 10,
  faults: ['service-killed', 'postgres-killed', 'redis-cut-from-all'],
  seconds: 8,
  operations: 10_500,
};
/** One half of a long run, with Redis or without. */
const long = (duration: number, redis: boolean): RunOptions => ({
  seed,
  people: 36,
  users: 12,
  pauseMs: 300,
  faults: planFaults(duration, redis, new Random(seed)),
  seconds: duration * 30,
  operations: duration * 1750,
});

/**
 * Clients use three instances while a nemesis kills, freezes and cuts; then a checker looks for violations.
 */
needs({ Linux: process.platform === 'linux', 'redis-server': hasRedis }).describe(
  'recorded histories',
  () => {
    it.each(minutes ? [true, false] : [true])('have no violation (Redis: %s)', async (redis) => {
      mkdirSync(CACHE, { recursive: true });
      const path = (out ?? join(CACHE, `history-${seed}.jsonl`)).replace(
        /(?=\.\w+$|$)/,
        redis ? '' : '-alone',
      );
      const recorder = new Recorder(path);
      const world = await World.start({ redis, env: ENV });
      try {
        await runHistory(world, recorder, minutes ? long(minutes, redis) : SHORT);
      } finally {
        await world.stop();
        await recorder.close();
      }
      const { violations, judged } = check(recorder.entries, PATIENCE);
      report('history', path);
      report('seed; operations', `${seed}; ${recorder.operations.toLocaleString('en')}`);
      report('entries by kind', [...recorder.counts].map(([kind, count]) => `${kind} ${count}`).join(', '));
      report('validated in time, in devices, in calm calls', JSON.stringify(judged));
      report('violations', violations.length);
      const shown = violations.slice(0, MOST_SHOWN).map(({ rule, text, entries }) => {
        return [`${rule}: ${text}`, ...entries.map((entry) => `    ${JSON.stringify(entry)}`)].join('\n');
      });
      if (!minutes)
        for (const [rule, lie] of Object.entries(lies(recorder.entries)))
          expect(check(lie, PATIENCE).violations.map((one) => one.rule)).toContain(rule);
      if (shown.length > 0) throw new Error(`seed ${seed}, ${path}:\n${shown.join('\n')}`);
    });
  },
);

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { needs } from '../support/installed.js';
import { isFull, proofMinutes, seed } from '../support/proof.js';
import { hasRedis } from '../support/redis-server.js';
import { check } from './history/checker.js';
import { explain } from './history/explain.js';
import { reportHistory } from './history/figures.js';
import { KEY_PLAN, planFaults, withdrawals } from './history/plan.js';
import { Random } from './history/random.js';
import { readHistory, Recorder } from './history/recorder.js';
import { runHistory, type RunOptions } from './history/run.js';
import { World } from './world/world.js';

const kept = process.env['HISTORY'];
/** Not in the run's temporary directory, which goes with it. */
const KEPT = fileURLToPath(new URL('../../node_modules/.cache/latchkey', import.meta.url));
const minutes = proofMinutes ?? 60;

/** The contract's second, with room for a machine on which everything runs at once; in short nothing is said of speed. */
const PATIENCE = isFull
  ? { socketsMs: 3000, keysMs: 1500, deliveredMs: 3000 }
  : { socketsMs: 5000, keysMs: 5000, deliveredMs: 5000 };
/** Nothing expires on the way, and nothing is removed. */
const ENV = { ACCESS_TOKEN_TTL: '14400', CHANNEL_HISTORY: '1000000' };

const SHORT: Omit<RunOptions, 'seed'> = {
  people: 18,
  users: 6,
  pauseMs: 10,
  faults: ['service-killed', 'postgres-killed', 'redis-cut-from-all'],
  seconds: 8,
  operations: 10_500,
  keys: withdrawals(1),
};
/** One half. */
const full = (redis: boolean): Omit<RunOptions, 'seed'> => ({
  people: 36,
  users: 12,
  pauseMs: 300,
  faults: planFaults(minutes, redis, new Random(seed)),
  seconds: minutes * 30,
  operations: (minutes / 60) * 105_000,
  keys: KEY_PLAN,
});

/**
 * Recorded histories, checked: people use three instances while a nemesis kills, freezes and cuts; then a checker looks for what
 * the contract forbids. `HISTORY=path` checks a history that was kept.
 */
needs({ Linux: process.platform === 'linux', 'redis-server': hasRedis }).describe(
  'recorded histories',
  () => {
    if (kept !== undefined) {
      it('of a file: nothing that the contract forbids', () => {
        const entries = readHistory(kept);
        const checked = check(entries, PATIENCE);
        const { violations } = checked;
        reportHistory(entries, checked, { name: 'of a file', seed: NaN, wanted: undefined });
        if (violations.length > 0) throw new Error(explain(violations, kept));
      });
      return;
    }
    const halves = isFull ? [true, false] : [true];
    it.each(halves)(
      'Redis: %s: nothing that the contract forbids',
      async (redis) => {
        const options = { seed, ...(isFull ? full(redis) : SHORT) };
        mkdirSync(KEPT, { recursive: true });
        const path = join(KEPT, `history-${seed}-${redis ? 'redis' : 'alone'}.jsonl`);
        const recorder = new Recorder(path);
        try {
          const world = await World.start({ redis, env: ENV });
          try {
            await runHistory(world, recorder, options);
          } finally {
            await world.stop();
          }
        } catch (error) {
          throw new Error(`seed ${seed}; the history so far is in ${path}`, { cause: error });
        } finally {
          await recorder.close();
        }
        const checked = check(recorder.entries, PATIENCE);
        const { violations } = checked;
        const name = redis ? 'with Redis' : 'without Redis';
        reportHistory(recorder.entries, checked, {
          name,
          seed,
          wanted: `≥ ${options.operations.toLocaleString('en')}`,
        });
        if (violations.length > 0) throw new Error(`seed ${seed}: ${explain(violations, path)}`);
        expect(recorder.operations).toBeGreaterThanOrEqual(options.operations);
        if (isFull) process.stdout.write(`  histories: kept in ${path}\n`);
        else rmSync(path);
      },
      (isFull ? minutes : 3) * 60_000 + 600_000,
    );
  },
);

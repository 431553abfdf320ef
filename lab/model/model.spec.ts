import fc from 'fast-check';
import { options, report } from '../options.js';
import { sessionModel } from './session-model.js';
import { DAY } from './specification.js';
import { World } from './world.js';

const { minutes, seed } = options;
const SHORT_RUNS = 30;
/** Sequence that failed, as its report names it: with the seed, these repeat that sequence alone. */
const { FAILED_AT: path, REPLAY: replayPath } = process.env;

describe('a model of sessions', () => {
  let world: World;

  beforeAll(async () => {
    world = await World.start();
  });
  afterAll(() => world?.stop());

  it('agrees with two instances in every sequence', async () => {
    const details = await fc.check(sessionModel(world, replayPath), {
      seed,
      ...(path !== undefined && { path }),
      ...(minutes
        ? { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: minutes * 60_000 }
        : { numRuns: SHORT_RUNS }),
    });
    const kinds = [...world.counts].toSorted(([, a], [, b]) => b - a);
    report('sequences; seed', `${details.numRuns}; ${seed}`);
    report('given up because the machine was too busy', details.numSkips);
    report('commands', kinds.map(([name, count]) => `${name} ${count}`).join(', '));
    report('the clock went on by', `${Math.round(world.distance / DAY)} days`);
    report('violations', details.failed ? 1 : 0);
    if (details.failed) throw new Error(fc.defaultReportMessage(details), { cause: details.errorInstance });
  });
});

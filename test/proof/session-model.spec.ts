import fc from 'fast-check';
import { jest } from '@jest/globals';
import { isFull, proofMinutes, reportFigure, seed } from '../support/proof.js';
import { CRASH, FAULTS } from './model/faults.js';
import { sessionModel } from './model/session-model.js';
import { DAY } from './model/specification.js';
import { World } from './model/world.js';

const MINUTES = proofMinutes ?? 10;
const SHORT_RUNS = 30;
/** For how long a planted fault is looked for, and its sequence made shorter. */
const LONGEST_SEARCH_MS = 600_000;
/** There, events are missing again and again. */
const PATIENCE_WITH_FAULTS_MS = 1000;
/** Those that a short run plants: so that nothing makes the model blind. */
const OFTEN_PLANTED = ['a state is not spent', 'the token of a revoked key is good'];

/** Of a sequence that has failed, as its report has them: with `SEED`, they repeat that one alone. */
const { FAILED_AT: path, REPLAY: replayPath } = process.env;

function report(what: string, figure: string, wanted?: string): void {
  reportFigure({ part: 'session-model', what, figure, ...(wanted !== undefined && { wanted }) });
}

describe('a model of sessions', () => {
  let world: World;

  beforeAll(async () => {
    world = await World.start();
  });
  afterAll(() => world?.stop());
  afterEach(() => jest.restoreAllMocks());

  it(
    'two instances do what the model does, whatever happens and however the clock is turned',
    async () => {
      const details = await fc.check(sessionModel(world, { replayPath }), {
        seed,
        ...(path !== undefined && { path }),
        ...(isFull
          ? { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: MINUTES * 60_000 }
          : { numRuns: SHORT_RUNS }),
      });
      const kinds = [...world.counts].toSorted(([, a], [, b]) => b - a);
      const commands = kinds.reduce((sum, [, count]) => sum + count, 0);
      report('sequences; seed', `${details.numRuns.toLocaleString('en')}; ${seed}`);
      report('given up, since the machine was too busy for the service', String(details.numSkips));
      report('commands', commands.toLocaleString('en'));
      report('of which', kinds.map(([name, count]) => `${name} ${count.toLocaleString('en')}`).join(', '));
      report('the clock went on by', `${Math.round(world.distance / DAY).toLocaleString('en')} days`);
      report('violations', details.failed ? '1' : '0', '0');
      if (details.failed) throw new Error(fc.defaultReportMessage(details), { cause: details.errorInstance });
    },
    (MINUTES + 5) * 60_000,
  );

  describe('finds', () => {
    const planted = Object.entries(FAULTS).filter(([name]) => isFull || OFTEN_PLANTED.includes(name));

    it.each(planted)(
      '%s',
      async (name, { plant, sign, of }) => {
        plant(world);
        world.patienceMs = PATIENCE_WITH_FAULTS_MS;
        world.otherFailures = 0;
        const limits = { numRuns: 10_000, interruptAfterTimeLimit: LONGEST_SEARCH_MS, endOnFailure: !isFull };
        const looking = sessionModel(world, { of, sign });
        const { counterexample, numRuns, numSkips, numShrinks } = await fc.check(looking, {
          seed,
          ...limits,
        });
        const shortest = [...fc.stringify(counterexample).matchAll(/(\w+)\(\{/g)].map(
          ([, command]) => command,
        );
        const found = `in sequence ${numRuns + numSkips}: ${sign.kind}; shortened ${numShrinks} times to: ${shortest.join(', ')}`;
        const drawn = of ? `; of ${of.join(', ')} alone` : '';
        report(`planted: ${name}${drawn}`, counterexample ? found : 'not found', 'found');
        expect(counterexample).not.toBeNull();
      },
      LONGEST_SEARCH_MS + 60_000,
    );

    it('nothing where each exchange crashes', async () => {
      CRASH(world);
      world.otherFailures = 0;
      const { sign } = FAULTS['a state is not spent']!;
      const looking = sessionModel(world, { of: ['authorize', 'exchange'], sign });
      const { counterexample } = await fc.check(looking, { seed, numRuns: SHORT_RUNS, maxSkipsPerRun: 1 });
      report(
        'planted: each exchange crashes, and an unspent state is looked for; sequences that failed',
        `${counterexample ? 'found' : 'not found'}; ${world.otherFailures}`,
        'not found',
      );
      expect(counterexample).toBeNull();
      expect(world.otherFailures).toBeGreaterThan(0);
    });
  });
});

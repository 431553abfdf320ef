import { FaultLoad } from '../../support/fault-load.js';
import { isFull, reportFigure } from '../../support/proof.js';
import { faultsOf } from './faults.js';
import { Nemesis, type Fault } from './nemesis.js';
import { World } from './world.js';

const TIMES_EACH = 5;
const SUCCESSES = 100;
const MINUTE_MS = 60_000;

/** Only in full: histories.spec.ts has a nemesis in `npm test` as well. */
(isFull ? describe : describe.skip)('every fault ends by itself (P10)', () => {
  it.each([false, true])(
    'Redis: %s',
    async (redis) => {
      const world = await World.start({ redis, env: { CHANNEL_HISTORY: '1000000' } }); // no event is one too many
      try {
        const load = await FaultLoad.start(world.urls);
        const back: string[] = [];
        try {
          for (const name of faultsOf(world)) {
            const faults: Fault[] = [];
            const nemesis = new Nemesis(world, (fault) => faults.push(fault), Math.random);
            for (let i = 0; i < TIMES_EACH; i++) {
              await nemesis.strike(name);
              await load.successes(SUCCESSES);
            }
            const longest = Math.max(...faults.map(({ undone, ended }) => ended - undone));
            back.push(`${name} ${(longest / 1000).toFixed(1)} s`);
          }
          const { requests, failed, acknowledged, lost, doubled, disordered } = await load.finish('all');
          const tell = (what: string, figure: string, wanted?: string): void =>
            reportFigure({
              part: 'faults',
              what: `${redis ? 'with' : 'without'} Redis: ${what}`,
              figure,
              ...(wanted !== undefined && { wanted }),
            });
          tell(
            `each fault ${TIMES_EACH} times; at the longest, from its end until all is whole`,
            back.join(', '),
          );
          tell('requests; of them failed', `${requests}; ${failed}`);
          tell('acknowledged; of that lost, doubled', `${acknowledged}; ${lost}, ${doubled}`, '…; 0, 0');
          expect({ lost, doubled, disordered }).toEqual({ lost: 0, doubled: 0, disordered: 0 });
          const said = world.instances.map((instance) => instance.output()).join('');
          expect(said).not.toMatch(/uncaught|unhandled/i);
        } finally {
          await load.close();
        }
      } finally {
        await world.stop();
      }
    },
    30 * MINUTE_MS,
  );
});

import { FaultLoad } from '../../support/fault-load.js';
import { needs } from '../../support/installed.js';
import { isFull, reportFigure, seed, type Figure } from '../../support/proof.js';
import { Random } from '../history/random.js';
import { faultsOf } from './faults.js';
import { Nemesis, type Fault } from './nemesis.js';
import { World } from './world.js';

const TIMES_EACH = Number(process.env['TIMES'] ?? 5);
const SUCCESSES = 100;
const MINUTE_MS = 60_000;
/**
 * P10: the first success within 3 s of the database's return. Here it is asked of every instance, and that it is ready and hears
 * the others; after each fault, also those that leave the database alone. Of a process that was ended it is asked from the moment at
 * which the new one says that it is ready: how long Node.js takes to start is told beside it.
 */
const WHOLE_WITHIN_MS = 3000;

/** Only in full: histories.spec.ts has a nemesis in short as well. */
needs({ 'npm run test:proof': isFull }).describe('every fault ends by itself (P10)', () => {
  it.each([false, true])(
    'Redis: %s',
    async (redis) => {
      const world = await World.start({ redis, env: { CHANNEL_HISTORY: '1000000' } }); // no event is one too many
      const tell = (what: string, figure: Figure['figure'], wanted = ''): void =>
        reportFigure({
          part: 'faults',
          what: `${redis ? 'with' : 'without'} Redis: ${what}`,
          figure,
          wanted,
        });
      try {
        const load = await FaultLoad.start(world.urls);
        const late: string[] = [];
        try {
          const random = new Random(seed);
          for (const name of faultsOf(world)) {
            const faults: Fault[] = [];
            const nemesis = new Nemesis(
              world,
              (fault) => faults.push(fault),
              () => random.next(),
            );
            for (let i = 0; i < TIMES_EACH; i++) {
              await nemesis.strike(name);
              await load.successes(SUCCESSES);
            }
            const inAll = longest(faults, ({ recovery }) => recovery.whole - recovery.gone);
            const ours = longest(faults, ({ recovery }) => recovery.whole - recovery.returned);
            const figure = {
              'all is whole, from the end of the cause': seconds(inAll),
              'from PostgreSQL’s first commit, and a service’s being ready': seconds(ours),
            };
            tell(name, figure, `≤ ${WHOLE_WITHIN_MS / 1000} s`);
            if (ours > WHOLE_WITHIN_MS) late.push(name);
          }
          const { requests, failed, acknowledged, lost, doubled, disordered } = await load.finish('all');
          tell('requests; of them failed', `${requests}; ${failed}`);
          tell('acknowledged; of that lost, doubled', `${acknowledged}; ${lost}, ${doubled}`, '…; 0, 0');
          tell('each fault so many times; seed', `${TIMES_EACH}; ${seed}`);
          expect({ late, lost, doubled, disordered }).toEqual({
            late: [],
            lost: 0,
            doubled: 0,
            disordered: 0,
          });
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

function longest(faults: readonly Fault[], of: (fault: Fault) => number): number {
  return Math.max(...faults.map(of));
}

function seconds(ms: number): string {
  return `${(Math.max(ms, 0) / 1000).toFixed(1)} s`; // the service may hear of a commit before we do
}

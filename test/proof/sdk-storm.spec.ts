import { inChromium } from '../support/chromium.js';
import { isFull, reportFigure, seed } from '../support/proof.js';
import { endElsewhere, endHere } from './sdk/ends.js';
import { FAULTS } from './sdk/faults.js';
import { Storm } from './sdk/storm.js';

const STEPS = Number(process.env['STEPS'] ?? (isFull ? 500 : 16));
/** In how many steps a planted fault has to show; each of them can show it. */
const STEPS_TO_FIND = 120;
const SEED_TO_FIND = 7;
/** Milliseconds: a second of the service's (contract §4), and what a busy browser takes. */
const LONGEST_END_MS = 5000;

const figure = (what: string, found: number | string, wanted?: string): void =>
  reportFigure({ part: 'sdk-storm', what, figure: found.toLocaleString('en'), ...(wanted && { wanted }) });

inChromium('the browser SDK in a storm', () => {
  it(`keeps its session over ${STEPS} random steps, and ends it when it is over (SEED=${seed})`, async () => {
    const storm = await Storm.begin({ seed, steps: STEPS });
    try {
      await storm.run();
      tell(storm);
      const { world } = storm;
      while (world.tabs.length < 3) await world.open();
      await storm.calm();
      for (const [name, end, reason] of [
        ['another device', endElsewhere, 'signed_out'],
        ['one of the tabs', endHere, 'user'],
      ] as const) {
        const { ms, reasons } = await end(world);
        expect(reasons).toEqual([reason, reason, reason]);
        figure(`from a sign-out by ${name} until all three tabs knew`, `${ms.toFixed(0)} ms`, '≤ 1 s');
        if (isFull) expect(ms).toBeLessThan(LONGEST_END_MS);
      }
    } finally {
      await storm.world.close();
    }
  }, 1_800_000);

  const planted = isFull ? it.each(FAULTS) : it.skip.each(FAULTS);
  planted(
    'shows a client that $name',
    async ({ name, only, found, ...patch }) => {
      const storm = await Storm.begin({ seed: SEED_TO_FIND, steps: STEPS_TO_FIND, patch, only });
      try {
        await expect(storm.run()).rejects.toThrow(found);
        figure(`planted: a client that ${name}`, `found at step ${storm.done.length}`, 'found');
      } finally {
        await storm.world.close();
      }
    },
    600_000,
  );
});

/** What a storm was, and what it has shown. */
function tell(storm: Storm): void {
  const { world, counts, answers, refreshes, overlaps, calms, done } = storm;
  const { seen } = world.gate;
  const sockets = seen.filter(({ method }) => method === 'WS').length;
  const authorized = seen.filter(({ exp }) => exp !== undefined).length - sockets;
  const list = (entries: Iterable<readonly [string | number, number]>): string =>
    [...entries]
      .toSorted(([, a], [, b]) => b - a)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  figure('random steps, of a seed', `${done.length}; ${seed}`);
  figure('steps by kind', list(counts));
  figure('hours that went by for service and device', (world.clock.ahead / 3_600_000).toFixed(0));
  figure('sign-outs without a reason', storm.signOuts, '0');
  figure('requests with a token, handshakes of sockets', `${authorized}; ${sockets}`);
  figure('of them with a stale token that could have been fresh', storm.stale.length, '0');
  figure('what the application was answered', list(answers));
  figure('refreshes, of them answered with a token', `${refreshes.all}; ${refreshes.answered}`);
  figure('of those, as many as the time and the steps explain', refreshes.answered, `≤ ${refreshes.most}`);
  figure('two refreshes of the browser at once', overlaps.overlaps.length, '0');
  figure('sent again by the browser itself, after a connection broke', overlaps.resent);
  figure('begun while one that hangs was given up', overlaps.overtaken);
  figure(
    'events pushed; received by the tabs, each once and in order',
    `${world.pushed.size}; ${storm.events}`,
  );
  figure(
    'calms, of which the longest until all was well',
    `${calms.length}; ${Math.max(...calms).toFixed(0)} ms`,
  );
}

import { inChromium } from '../../test/support/chromium.js';
import { options, report } from '../options.js';
import { endElsewhere, endHere } from './ends.js';
import { Storm } from './storm.js';

const { minutes, seed } = options;
const STEPS = minutes ? minutes * 25 : 16;
const ENDS_HERE = minutes ? 30 : 3;

inChromium('the browser SDK in a storm', () => {
  it(`keeps its session over ${STEPS} random steps, and ends it in all tabs`, async () => {
    const storm = await Storm.begin({ seed, steps: STEPS });
    try {
      await storm.run();
      report('steps; seed', `${storm.done.length}; ${seed}`);
      report('steps by kind', [...storm.counts].map(([name, count]) => `${name} ${count}`).join(', '));
      report('refreshes; of the browser at once', `${storm.refreshes}; ${storm.overlaps.length}`);
      report('events pushed; received by the tabs', `${storm.world.pushed.size}; ${storm.events}`);
      report('longest recovery', `${Math.max(...storm.calms).toFixed(0)} ms`);
      // By the channel, unless a request is refused first: then by the refresh that follows.
      const elsewhere = await endElsewhere(storm.world);
      expect(['signed_out', 'refused']).toContain(elsewhere.reasons[0]);
      expect(new Set(elsewhere.reasons).size).toBe(1);
      report('sign-out on another device, until all tabs knew', `${elsewhere.ms.toFixed(0)} ms`);
      const all: number[] = [];
      for (let before = 1; before <= ENDS_HERE; before++) {
        const { ms, reasons } = await endHere(storm.world, before);
        expect(reasons).toEqual(['user', 'user', 'user']);
        all.push(ms);
      }
      report('sign-out in one tab, until all tabs knew (longest)', `${Math.max(...all).toFixed(0)} ms`);
    } finally {
      await storm.world.close();
    }
  });
});

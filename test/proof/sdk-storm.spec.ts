import { inChromium } from '../support/chromium.js';
import { isFull } from '../support/proof.js';
import { Storm } from './sdk/storm.js';

const STEPS = isFull ? 500 : 24;
const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000);

inChromium('the browser SDK in a storm', () => {
  it(`keeps its session over ${STEPS} random steps (SEED=${SEED})`, async () => {
    const storm = await Storm.begin({ seed: SEED, steps: STEPS, ...(process.env['ONLY'] && { only: process.env['ONLY'].split(',') }) });
    try {
      await storm.run();
      console.log(JSON.stringify({ counts: [...storm.counts], answers: [...storm.answers], refreshes: storm.refreshes, ov: storm.overlaps, calms: storm.calms.map(Math.round), hours: storm.world.clock.ahead / 3.6e6, seen: storm.world.gate.seen.length, troubles: storm.world.troubles.length }));
    } finally {
      await storm.world.close();
    }
  }, 900_000);
});

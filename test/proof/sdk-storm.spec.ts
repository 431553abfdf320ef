import { inChromium } from '../support/chromium.js';
import { needs } from '../support/installed.js';
import { isFull, reportFigure, seed } from '../support/proof.js';
import { endElsewhere, endHere } from './sdk/ends.js';
import { FAULTS } from './sdk/faults.js';
import { refusedBefore } from './sdk/refusals.js';
import { TABS } from './sdk/storm-steps.js';
import { Storm } from './sdk/storm.js';

const STEPS = Number(process.env['STEPS'] ?? (isFull ? 500 : 16));
/** In how many steps a planted fault has to show; each of them can show it. */
const STEPS_TO_FIND = 120;
const SEED_TO_FIND = 7;
/** A second (contract §4). */
const LONGEST_END_MS = 1000;
/** How often the user signs in in one tab, and out in another. */
const ENDS_HERE = isFull ? 30 : 3;

const figure = (what: string, found: number | string, wanted?: string): void =>
  reportFigure({ part: 'sdk-storm', what, figure: found.toLocaleString('en'), ...(wanted && { wanted }) });

function tellEnd(by: string, ms: number): void {
  figure(`from a sign-out by ${by} until all three tabs knew`, `${ms.toFixed(0)} ms`, '≤ 1 s');
  if (isFull) expect(ms).toBeLessThanOrEqual(LONGEST_END_MS);
}

inChromium('the browser SDK in a storm', () => {
  it(`keeps its session over ${STEPS} random steps, and ends it when it is over (SEED=${seed})`, async () => {
    const storm = await Storm.begin({ seed, steps: STEPS });
    try {
      await storm.run();
      tell(storm);
      const { world } = storm;
      const expectOne = (reasons: readonly string[], possible: readonly string[]): void => {
        expect(possible).toContain(reasons[0]);
        expect(reasons).toEqual([reasons[0], reasons[0], reasons[0]]);
      };
      // By the channel, unless a request is refused first: then by the refresh that follows.
      const elsewhere = await endElsewhere(world);
      expectOne(elsewhere.reasons, ['signed_out', 'refused']);
      tellEnd('another device', elsewhere.ms);
      let worst = 0;
      for (let before = 1; before <= ENDS_HERE; before++) {
        const { ms, reasons } = await endHere(world, before);
        expectOne(reasons, ['user']);
        worst = Math.max(worst, ms);
      }
      tellEnd(`one of the tabs, right after a sign-in (the worst of ${ENDS_HERE})`, worst);
    } finally {
      await storm.world.close();
    }
  }, 1_800_000);

  const planted = needs({ 'npm run test:proof': isFull }).it.each(FAULTS);
  planted(
    'shows a client that $name',
    async ({ name, only, found, ...patch }) => {
      const storm = await Storm.begin({
        seed: SEED_TO_FIND,
        steps: STEPS_TO_FIND,
        patch,
        ...(only && { only }),
      });
      try {
        await expect(storm.run()).rejects.toThrow(found);
        const drawn = only ? `of ${only.map((step) => `“${step}”`).join(', ')} alone` : 'of all steps';
        figure(`planted: a client that ${name}; ${drawn}`, `found at step ${storm.done.length}`, 'found');
      } finally {
        await storm.world.close();
      }
    },
    600_000,
  );
});

/** What a storm was, and what it has shown. */
function tell(storm: Storm): void {
  const { world, counts, answers, refreshes, overlaps, calms, done, stale } = storm;
  const { causes } = refreshes;
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
  const three = storm.tabs.filter((count) => count === TABS).length;
  figure('tabs after a step', `three ${three} times, two ${done.length - three} times`);
  figure('hours that went by for service and device', (world.clock.ahead / 3_600_000).toFixed(0));
  figure('sign-outs without a reason', storm.signOuts, '0');
  figure('requests with a token, handshakes of sockets', `${authorized}; ${sockets}`);
  figure('of them with a stale token that could have been fresh', stale.stale.length, '0');
  figure('with a stale token since there was no other, by what excuses them', list(stale.excused));
  figure('what the application was answered', list(answers));
  const { unauthorized } = storm;
  const of401 = [...storm.refusals].filter(
    ([{ status, begun }]) => status === 401 && unauthorized.has(begun),
  );
  figure('of these, why 401', list(countsOf(of401.map(([, reason]) => reason))));
  const proofs = [...storm.refusals].filter(([{ status }]) => status !== 401);
  figure(
    'refreshes that were answered with invalid_dpop_proof, why',
    list(countsOf(proofs.map(([, reason]) => reason))),
  );
  const twice = proofs.flatMap(([one, reason]) => {
    const first = refusedBefore(one, seen);
    return first ? `${storm.refusals.get(first) ?? 'unknown'}, then ${reason ?? 'unknown'}:` : [];
  });
  figure('attempts of which the second proof was refused, too, why', list(countsOf(twice)));
  figure('refusals that nothing explains', [...storm.refusals.values()].filter((one) => !one).length, '0');
  figure('refreshes, of them answered with a token', `${refreshes.all}; ${causes.size}`);
  figure('of those, why', list(countsOf(causes.values())));
  figure('of those that nothing explains', [...causes.values()].filter((one) => !one).length, '0');
  figure('two refreshes of the browser at once', overlaps.overlaps.length, '0');
  figure('sent again by the browser itself, after a connection broke', overlaps.resent);
  figure('begun while one that hangs was given up', overlaps.overtaken.size);
  figure(
    'events pushed; received by the tabs, each once and in order',
    `${world.pushed.size}; ${storm.events}`,
  );
  figure(
    'calms, of which the longest until all was well',
    `${calms.length}; ${Math.max(...calms).toFixed(0)} ms`,
  );
}

function countsOf<One>(all: Iterable<One | undefined>): Map<One | 'unknown', number> {
  const counts = new Map<One | 'unknown', number>();
  for (const one of all) counts.set(one ?? 'unknown', (counts.get(one ?? 'unknown') ?? 0) + 1);
  return counts;
}

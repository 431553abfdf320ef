import { judgeAnswers, judgeRounds, type Round } from './rounds.js';

const wait = (p99: number, failed = 0) => ({
  count: 4000,
  failed: failed === 0 ? {} : { '500 why': failed },
  leftOut: 0,
  failedLeftOut: {},
  p50: 1,
  p99,
  max: p99,
  late: 0,
});
/** Three rounds of which the middle one counts. */
const rounds = (quiet: number, disturbed: number, failed = 0): Round[] =>
  [disturbed / 2, disturbed, disturbed * 9].map((p99) => [wait(quiet), wait(p99, failed), wait(quiet)]);

/** What the full experiment fails for (P12, P14); it takes 40 minutes itself. */
describe('the verdict on what refreshes waited for', () => {
  it('twice as long as in quiet, in the middle of all rounds', () => judgeRounds(rounds(2, 4)));

  it('not longer', () => expect(() => judgeRounds(rounds(2, 4.1))).toThrow(/toBeLessThanOrEqual/));

  it('no refresh may fail, however short the others waited', () => {
    expect(() => judgeRounds(rounds(2, 2, 1))).toThrow(/toEqual/);
  });

  it('enough have to be left where a hypervisor took time away', () => {
    const [first, ...others] = rounds(2, 2) as [Round, ...Round[]];
    const noisy = (leftOut: number): Round[] => [[first[0], { ...first[1], leftOut }, first[2]], ...others];
    judgeRounds(noisy(3000));
    expect(() => judgeRounds(noisy(3001))).toThrow(/toBeGreaterThanOrEqual/);
  });

  it('some have to be answered beside whoever disturbs', () => {
    const hung = rounds(2, 2).map(([before, during, after]): Round => [
      before,
      { ...during, count: 0 },
      after,
    ]);
    expect(() => judgeAnswers(hung)).toThrow(/toBeGreaterThan/);
  });
});

import { needs } from '../../support/installed.js';
import { isFull } from '../../support/proof.js';
import {
  inRounds,
  judgeAnswers,
  judgeEnough,
  judgeRatio,
  reportRounds,
  tellable,
  type Round,
} from './rounds.js';

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
  it('twice as long as in quiet, in the middle of all rounds', () => judgeRatio(rounds(2, 4)));

  it('not longer', () => expect(() => judgeRatio(rounds(2, 4.1))).toThrow(/toBeLessThanOrEqual/));

  it('no refresh may fail, however short the others waited', () => {
    judgeAnswers(rounds(2, 2));
    expect(() => judgeAnswers(rounds(2, 2, 1))).toThrow(/toEqual/);
  });

  it('a round is told where enough is left of each of its whiles, and enough of them have to be', () => {
    const [first, ...others] = rounds(2, 2) as [Round, ...Round[]];
    const [before, during, after] = first;
    for (const stolen of [
      [{ ...before, leftOut: 3501 }, during, after],
      [before, { ...during, leftOut: 3501 }, after],
      [before, during, { ...after, leftOut: 3501 }],
    ] satisfies Round[]) {
      expect(tellable([stolen, ...others])).toEqual(others);
      judgeEnough([stolen, ...others], 2);
      expect(() => judgeEnough([stolen, ...others], 3)).toThrow(/toBeGreaterThanOrEqual/);
    }
    judgeEnough([[before, { ...during, leftOut: 3000 }, after], ...others], 3);
  });

  it('another one is made for one that is not told, but not for ever', async () => {
    const [[before, , after]] = rounds(2, 2) as [Round];
    const made = (leftOut: number[]): Promise<Round[]> =>
      inRounds(() => Promise.resolve([before, { ...wait(2), leftOut: leftOut.shift() ?? 0 }, after]), 2, 4);
    expect((await made([])).length).toBe(2);
    expect((await made([4000, 0, 3501, 0])).length).toBe(4);
    expect((await made([4000, 4000, 4000, 4000])).length).toBe(4);
  });

  const short = needs({ 'a short run': !isFull }).it; // in full it would be a figure of the table

  short('a refresh that failed counts also in a round that is not told', () => {
    const [[before, , after], ...others] = rounds(2, 2) as [Round, ...Round[]];
    const failed = [[before, { ...wait(2, 1), leftOut: 3999 }, after], ...others] satisfies Round[];
    expect(() => reportRounds('what', failed)).toThrow(/toEqual/);
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

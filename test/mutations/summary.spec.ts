import { holds, survivorPage, type Judged } from './summary.js';

const mutant = {
  file: 'src/auth/a.ts',
  line: 1,
  original: 'a',
  replacement: 'b',
} as Judged;
const known = { source: '', passed: {} };
const mutants = (verdict: Partial<Judged['verdict']>, count: number): Judged[] =>
  Array.from({ length: count }, (_, i) => ({
    ...mutant,
    key: `key ${i}`,
    verdict: { ...known, ...verdict },
  }));
const killed = (count: number): Judged[] => mutants({ killed: 'killed' }, count);
const survived = (count: number): Judged[] => mutants({ reached: 2, left: 0 }, count);

describe('the verdict on mutants', () => {
  it.each<[string, Judged[], boolean]>([
    ['nine in ten are killed', [...killed(9), ...survived(1)], true],
    ['fewer are killed', [...killed(8), ...survived(2)], false],
    ['one is not tried on all tests', [...killed(9), ...mutants({ reached: 2, left: 1 }, 1)], false],
    ['of one it is not known which tests reach it', [...killed(9), ...mutants({}, 1)], false],
  ])('%s', (_name, judged, does) => {
    expect(holds(judged)).toBe(does);
  });

  it('the page tells those that have survived all tests from those that are not tried on all', () => {
    const unreached = mutants({ reached: 0, left: 0 }, 1);
    const page = survivorPage([...killed(1), ...survived(2), ...unreached, ...mutants({}, 3)]);
    expect(page).toMatch(
      / 3 have\s+survived all tests that reach them \(1 of them, since none does\); 3 are open: /,
    );
  });
});

import { existsSync } from 'node:fs';
import { byPromise, PROMISES } from './proof/promises.js';
import { textOf } from './support/deployment-files.js';

/** The threat model in SECURITY.md names code and tests that exist. */
const isThere = (path: string): boolean => existsSync(new URL(`../${path}`, import.meta.url));
const specPath = (name: string): string => (/^(?:src|packages)\//.test(name) ? name : `test/${name}`);

/** Rows of the table below a heading, without its head: the text of each cell. */
function rowsBelow(heading: string): string[][] {
  const section = textOf('SECURITY.md')
    .split(`\n### ${heading}\n`)[1]!
    .split(/\n##+ /)[0]!;
  const lines = section.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}
const namesIn = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);

describe.each([
  ['Where attackers come in', 16],
  ['What grows with what strangers send', 14],
])('the threat model: %s', (heading, count) => {
  it('has a row for each, with a file that keeps it and a test that shows it, which exist', () => {
    const rows = rowsBelow(heading);
    expect(rows).toHaveLength(count);
    for (const [what, files, specs] of rows as [string, string, string][]) {
      const kept = namesIn(files).map((name) => (name === 'package.json' ? name : `src/${name}`));
      const shown = namesIn(specs).map(specPath);
      expect([what, kept.length > 0, shown.length > 0]).toEqual([what, true, true]);
      for (const name of shown) expect([name, name.endsWith('.spec.ts')]).toEqual([name, true]);
      expect([...kept, ...shown].filter((path) => !isThere(path))).toEqual([]);
    }
  });
});

it('each promise, P1 to P14, names the specs that `npm run test:proof -- promises` runs, and they exist', () => {
  const rows = rowsBelow('The promises, and what shows them') as [string, string, string][];
  const documented = rows.map(([promise, , specs]) => [promise, namesIn(specs).map(specPath)] as const);
  expect(Object.fromEntries(documented)).toEqual(PROMISES);
  expect(Object.keys(PROMISES)).toEqual(Array.from({ length: 14 }, (_, index) => `P${index + 1}`));
  for (const specs of Object.values(PROMISES)) {
    expect(specs.length).toBeGreaterThan(0);
    expect(specs.filter((path) => !isThere(path))).toEqual([]);
  }
});

it('each promise has a figure, which one of its specs reports; a table in docs/reliability.md has them all', () => {
  const [, table = ''] = textOf('docs/reliability.md').split('<!-- proof:promises -->');
  const rows = table.split('<!-- /proof:promises -->')[0]!.trim().split('\n');
  const isWritten = rows.length > 1;
  for (const [promise, specs] of Object.entries(PROMISES)) {
    const figures = rows.filter((row) => row.startsWith(`| ${promise}: `));
    const report = new RegExp(`reportPromise\\(\\s*'${promise}'`);
    const reporting = specs.filter((path) => path.endsWith('.ts') && report.test(textOf(path)));
    expect([promise, figures.length > 0, reporting.length > 0]).toEqual([promise, isWritten, true]);
  }
});

it('figures of promises are in the order of their numbers, after all others', () => {
  const promise = (number: number) => ({ part: 'promises', what: `P${number}: a figure`, figure: '1' });
  const other = { part: 'histories', what: 'operations', figure: '1' };
  const sorted = [promise(10), promise(2), other, promise(1)].toSorted(byPromise);
  expect(sorted).toEqual([other, promise(1), promise(2), promise(10)]);
});

import { figureTable, withPart } from './document.js';

const part = 'p';

it('figures with headings of their own are tables of their own', () => {
  const [measured, ...tables] = figureTable(
    [
      { part, what: 'a', figure: '1', wanted: '≥ 1' },
      { part, what: 'b', figure: { 'p50, ms': '2', ratio: '3' } },
      { part, what: 'c', figure: { 'p50, ms': '4', ratio: '5' }, wanted: '≤ 5' },
      { part, what: 'd', figure: '6' },
    ],
    'npm run x',
  ).split('\n\n');
  expect(measured).toMatch(/^Written by `npm run x` on \d{4}-\d\d-\d\d: /);
  expect(tables).toEqual([
    '|What|Figure|Wanted|\n|---|---|---|\n|a|1|≥ 1|\n|d|6||',
    '|What|p50, ms|ratio|Wanted|\n|---|---|---|---|\n|b|2|3||\n|c|4|5|≤ 5|',
  ]);
});

it('a part is put between its marks, and nowhere else', () => {
  const document = 'before\n<!-- proof:p -->\nold\n<!-- /proof:p -->\nafter';
  expect(withPart(document, part, 'new')).toBe('before\n<!-- proof:p -->\n\nnew\n\n<!-- /proof:p -->\nafter');
  expect(() => withPart(document, 'q', 'new')).toThrow('the document has no place for q');
});

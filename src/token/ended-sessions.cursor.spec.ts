import { cursorBefore, parseCursor } from './ended-sessions.cursor.js';

describe('a cursor of ended sessions', () => {
  it.each<[string, { ms: number; xmin: string }]>([
    ['0-0', { ms: 0, xmin: '0' }],
    ['1700000000000-123456789', { ms: 1_700_000_000_000, xmin: '123456789' }],
    [`${'9'.repeat(15)}-${'9'.repeat(18)}`, { ms: 999_999_999_999_999, xmin: '9'.repeat(18) }],
  ])('%s', (text, cursor) => expect(parseCursor(text)).toEqual(cursor));

  it.each([
    undefined,
    '',
    '1',
    '1-',
    '-1',
    '1-2-3',
    'x1-2',
    '1-2x',
    'a-2',
    '1-b',
    '1 -2',
    `1${'0'.repeat(15)}-1`,
    `1-1${'0'.repeat(18)}`,
  ])('%j is none', (text) => expect(parseCursor(text)).toBeUndefined());

  it('begins ten seconds before a sign-out, and knows what its place knew', () => {
    expect(cursorBefore(new Date(1_700_000_010_000), '1-77')).toBe('1700000000000-77');
  });
});

import { OAuthError } from '../../errors/oauth-error.js';
import { jsonData } from './realtime.service.js';

const nested = (levels: number, open = '[', close = ']'): unknown =>
  JSON.parse(`${open.repeat(levels)}${open === '[' ? '' : '1'}${close.repeat(levels)}`);

describe('what an event may carry', () => {
  it.each([[null], [0], [false], [''], ['ü\u0000\uD800✨'], [[1, [2]]], [{ a: { b: null } }]])(
    '%j, as it is',
    (data) => {
      expect(jsonData(data)).toEqual(data);
    },
  );

  it('values from code become what will arrive', () => {
    const date = new Date(0);
    expect(
      jsonData({ date, left: undefined, not: Number.NaN, bytes: Buffer.from('a'), map: new Map([[1, 2]]) }),
    ).toEqual({
      date: '1970-01-01T00:00:00.000Z',
      not: null,
      bytes: { type: 'Buffer', data: [97] }, // otherwise Socket.IO would send bytes live, but this object from the history
      map: {},
    });
    expect(jsonData(undefined)).toBeNull();
  });

  it('a hundred levels, and no more', () => {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      expect(jsonData(nested(100, open, close))).toEqual(nested(100, open, close));
      for (const levels of [101, 4107, 30_000]) {
        expect(() => jsonData(nested(levels, open, close))).toThrow(OAuthError);
      }
    }
    expect(() => jsonData([1, { a: nested(99) }])).toThrow(OAuthError); // not only in the first place
  });

  const circular: Record<string, unknown> = {};
  circular['itself'] = circular;
  const throwing = {
    toJSON() {
      throw new Error('no');
    },
  };
  it.each<[string, unknown]>([
    ['something circular', circular],
    ['a BigInt', 1n],
    ['a function', () => 1],
    ['a symbol', Symbol('x')],
    ['what throws', throwing],
    ['more than 512 KiB', 'x'.repeat(600_000)],
  ])('not %s', (_name, data) => {
    expect(() => jsonData(data)).toThrow(expect.objectContaining({ error: 'invalid_request' }));
  });

  it('the data of any request of 64 KiB is short enough, however its numbers are written', () => {
    const numbers = `[${Array(10_000).fill('-9e20').join(',')}]`;
    expect(numbers.length).toBeLessThan(65_536);
    expect(jsonData(JSON.parse(numbers))).toHaveLength(10_000);
  });
});

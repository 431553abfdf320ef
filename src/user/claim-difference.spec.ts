import type { Claims } from '../identity/claims.js';
import { claimDifference } from './claim-difference.js';

const many = (count: number, name = 'n'): Claims =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`${name}${i}`, `value ${i}`]));

describe('the difference of claims', () => {
  it.each<[string, before: Claims, after: Claims, added: Claims, removed: Claims]>([
    ['a new claim', {}, { plan: 'pro' }, { plan: 'pro' }, {}],
    ['a claim that is gone', { seats: 3, plan: 'pro' }, { seats: 3 }, {}, { plan: 'pro' }],
    ['another value', { plan: 'free' }, { plan: 'pro' }, { plan: 'pro' }, { plan: 'free' }],
    ['null and a value', { plan: null }, { plan: 0 }, { plan: 0 }, { plan: null }],
    ['roles', { roles: ['a', 'b'] }, { roles: ['c', 'b'] }, { roles: ['c'] }, { roles: ['a'] }],
    ['roles in another order', { roles: ['a', 'b'], x: 1 }, { roles: ['b', 'a'] }, {}, { x: 1 }],
    ['the last role', { roles: ['a'] }, {}, {}, { roles: ['a'] }],
    ['a list in another order', { l: [1, 2] }, { l: [2, 1] }, { l: [2, 1] }, { l: [1, 2] }],
    ['an entry that is there twice', { l: [1, 2] }, { l: [1, 1, 2] }, { l: [1] }, {}],
    ['a list of objects', { l: [{ a: 1 }] }, { l: [{ a: 1 }, { a: 2 }] }, { l: [{ a: 2 }] }, {}],
    ['a list and a value', { l: [1] }, { l: 1 }, { l: 1 }, { l: [1] }],
    ['an object', { o: { a: 1, b: 1 } }, { o: { a: 2, b: 1 } }, { o: { a: 2, b: 1 } }, { o: { a: 1, b: 1 } }],
    ['a name of JavaScript', {}, JSON.parse('{"__proto__":1}'), JSON.parse('{"__proto__":1}'), {}],
  ])('%s', (_name, before, after, added, removed) => {
    const expected = { source: 'application', added, removed };
    expect(claimDifference('application', before, after, true)).toEqual(expected);
    const names = (claims: Claims) => Object.fromEntries(Object.keys(claims).map((name) => [name, '…']));
    expect(claimDifference('application', before, after, false)).toEqual({
      ...expected,
      added: names(added),
      removed: names(removed),
    });
  });

  const numbers = Array.from({ length: 2000 }, () => 1);
  const long = 'x'.repeat(3000);
  it.each<[string, before: Claims, after: Claims, added: Claims, removed: Claims]>([
    [
      'a long value leaves its name, and does not displace short ones',
      { plan: 'free' },
      { plan: long, seats: 3 },
      { plan: '…', seats: 3 },
      { plan: 'free' },
    ],
    [
      'a long name leaves a mark',
      {},
      { [long]: 1, plan: 'x'.repeat(99) },
      { plan: 'x'.repeat(99), '…': '…' },
      {},
    ],
    ['a list is cut at its end', {}, { l: numbers }, { l: [...numbers.slice(0, 983), '…'] }, {}],
    ['a list of long entries', {}, { l: [long, 'x'] }, { l: '…' }, {}],
    [
      'values that are added come before longer ones that are removed',
      { l: Array.from({ length: 200 }, (_, i) => `old ${1000 + i}`) },
      { l: ['new'] },
      { l: ['new'] },
      { l: [...Array.from({ length: 177 }, (_, i) => `old ${1000 + i}`), '…'] },
    ],
  ])('beyond the limit: %s', (_name, before, after, added, removed) => {
    expect(claimDifference('application', before, after, true)).toEqual({
      source: 'application',
      added,
      removed,
    });
  });

  it.each([
    [many(100), {}],
    [many(100), many(100, 'm')],
    [{}, { l: numbers }],
    [many(100, 'ß'.repeat(40)), many(100, '"'.repeat(40))],
    [many(60), many(61, 'ü')],
    [{ [long]: long }, { [`${long}1`]: long }],
    ...Array.from({ length: 60 }, (_, i) => [many(i, 'a'), { ...many(i, 'b'), l: numbers.slice(0, 20 * i) }]),
  ])('has 2 KiB of JSON at most: %#', (before, after) => {
    const size = (withValues: boolean) =>
      Buffer.byteLength(JSON.stringify(claimDifference('application', before, after, withValues)));
    expect(size(true)).toBeLessThanOrEqual(2048);
    expect(size(false)).toBeLessThanOrEqual(2048);
  });
});

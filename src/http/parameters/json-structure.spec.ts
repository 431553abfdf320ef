import { checkJson } from './json-structure.js';

const list = (count: number, item: string): string => `[${Array(count).fill(item).join()}]`;
const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

describe('checkJson', () => {
  it.each<[string, string]>([
    ['an empty body', ''],
    [
      'brackets, colons and numbers in a text',
      JSON.stringify({ a: `${'[{:'.repeat(9000)}12345678901234567890 \\"` }),
    ],
    ['100 levels of a member', `{"a":${deep(100)}}`],
    ['a long list of numbers', list(30_000, '1')],
    ['the largest safe integer, and its negative', '[9007199254740991,-9007199254740991]'],
    ['a larger integer that is exact', '[9007199254740992,1180591620717411303424]'],
    ['fractions and exponents', '[0.1234567890123456789,1e21,-1.5E-7,123456789012.25]'],
    ['what is no JSON', '--- 1.2.3.4.5.6.7.8.9 eeee {"a'],
  ])('accepts %s', (_what, json) => {
    expect(() => checkJson(json)).not.toThrow();
  });

  it.each<[string, string, RegExp]>([
    ['101 levels of a member', `{"a":${deep(101)}}`, /deeper than 100/],
    ['a level behind a text that ends with a backslash', `{"a\\\\":${deep(101)}}`, /deeper than 100/],
    ['more than 2,000 lists', list(2000, '[]'), /2000 objects and lists/],
    ['more than 2,000 objects', list(2000, '{}'), /2000 objects and lists/],
    [
      'more than 4,000 members',
      `{${Array.from({ length: 4001 }, (_, i) => `"${i}":0`).join()}}`,
      /4000 members/,
    ],
    ['an integer beyond 2^53', '{"tenant":9007199254740993}', /too large to stay exact/],
    ['a negative one', '[-9007199254740993]', /too large to stay exact/],
    ['a number that is infinite', '{"a":1e400}', /too large to stay exact/],
  ])('refuses %s', (_what, json, message) => {
    expect(() => checkJson(json)).toThrow(message);
  });
});

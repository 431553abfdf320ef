import { parseBody } from './parse-body.js';

const VALUES = 20;
const json = (text: string, most = VALUES): object => parseBody(Buffer.from(text), 'application/json', most);
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

describe('JSON that is parsed', () => {
  it.each<[string, string]>([
    ['empty', ''],
    ['as many values as are allowed', `{"a":[${Array(19).fill(1).join()}]}`],
    ['brackets and commas in a text', JSON.stringify({ a: '[{,'.repeat(1000) })],
    ['a text with quotation marks', JSON.stringify({ a: '",[\\'.repeat(1000) })],
    ['a text that ends with backslashes', JSON.stringify({ a: '\\\\\\', b: '\\' })],
    ['other characters than ASCII', JSON.stringify({ ä: '€,[𝄞"' })],
    ['as many levels as are allowed', `{"a":${nested(100)}}`],
  ])('%s', (_name, text) => {
    const most = text.includes('[[') ? 200 : VALUES;
    expect(json(text, most)).toEqual(text === '' ? {} : JSON.parse(text));
  });
});

describe('JSON that is refused before it is parsed', () => {
  const parse = JSON.parse;
  let parsed: string[];
  beforeEach(() => {
    parsed = [];
    JSON.parse = (text: string) => parse(parsed[parsed.push(text) - 1]!) as unknown;
  });
  afterEach(() => void (JSON.parse = parse));

  it('counts what it parses', () => {
    json('{}');
    expect(parsed).toEqual(['{}']);
  });

  it.each<[string, string, string]>([
    ['one level too many', `{"a":${nested(101)}}`, 'deeper'],
    ['levels that do not end', '['.repeat(20_000), 'deeper'],
    ['levels of objects', '{"a":'.repeat(4000), 'deeper'],
    ['one value too many', `{"a":[${Array(21).fill(1).join()}]}`, 'values'],
    ['many members', `{${Array.from({ length: 2000 }, (_, i) => `"${i}":1`).join()}}`, 'values'],
    ['many objects', `[${Array.from({ length: 2000 }, (_, i) => `{"${i}":1}`).join()}]`, 'values'],
    ['values after texts', `{"a":"\\"","b":"\\\\",${'"c":"\\\\\\"",'.repeat(30)}"d":1}`, 'values'],
    ['commas only', ','.repeat(20_000), 'values'],
  ])('%s', (_name, text, message) => {
    expect(() => json(text, message === 'deeper' ? Infinity : VALUES)).toThrow(message);
    expect(parsed).toEqual([]);
  });
});

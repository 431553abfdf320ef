import { parseUnique } from './unique-json.js';

describe('an object of JSON without a name that comes twice', () => {
  it.each([
    ['{}', {}],
    ['{"a":null,"b":[null]}', { a: null, b: [null] }],
    ['{"a":1,"b":{"a":[{"a":2},{"a":3}]}}', { a: 1, b: { a: [{ a: 2 }, { a: 3 }] } }],
    ['{"a:b":":","c":"\\"x\\":1","d":["e:f"]}', { 'a:b': ':', c: '"x":1', d: ['e:f'] }],
    ['{"a\\\\":"\\\\:"}', { 'a\\': '\\:' }],
  ])('%s', (text, value) => expect(parseUnique(text)).toEqual(value));

  it.each([
    '',
    'null',
    '1',
    '"a:b"',
    '[]',
    '[{"a":1}]',
    '{"a":1,"a":1}',
    '{"a":1,"\\u0061":1}',
    '{"a":{"b":1,"b":1}}',
    '{"a":[{"b":1,"c":1,"b":1}]}',
    '{"__proto__":1,"__proto__":1}',
    '{"a":1} {"a":1}',
    '{"a":',
    `{"a":${'['.repeat(100_000)}`,
  ])('not %.40s', (text) => expect(parseUnique(text)).toBeUndefined());

  it('reads each character once, also of text that is all quotation marks and backslashes', () => {
    for (const piece of ['"', '\\"', '"\\', '":"', '{"":']) {
      const began = performance.now();
      parseUnique(`{"a":"${'\\\\'.repeat(50_000)}","b":${JSON.stringify(piece.repeat(50_000))}}`);
      parseUnique(`{"a":${piece.repeat(50_000)}`);
      expect(performance.now() - began).toBeLessThan(2000);
    }
  });
});

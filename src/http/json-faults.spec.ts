import { DEEPEST_VALUE, faultOf, type JsonText } from './json-faults.js';

describe('a member that comes twice', () => {
  it.each([
    ['{"a":1,"a":2}'],
    ['{"a":1,"b":{"c":[1]},"a":2}'],
    ['{"a":1,"\\u0061":2}'],
    ['{"é":1,"\\u00e9":2}'],
    ['{ "a" : "}" , "a" : 2 }'],
    ['{"\\"":1,"\\u0022":2}'],
    ['{"a\\\\":1,"b":"\\\\","a\\\\":2}'],
    ['\ufeff{"a":1,"a":2}'],
    ['{"__proto__":1,"__proto__":2}'],
    ['{"":1,"":2}'],
  ])('%s', (json) => expect(faultOf(json)).toBe('repeated'));

  it.each([
    ['{}'],
    ['{"a":1,"b":2}'],
    ['{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}'],
    ['{"a":"\\"a\\":1","b":"{\\"a\\":"}'],
    ['{"a":"a","A":"a"}'],
    ['["a","a"]'],
    ['{"a":'],
    ['{"a\\'],
    ['nonsense "'],
    [''],
  ])('not in %s', (json) => expect(faultOf(json)).toBeUndefined());
});

describe('a member of a parameter that is an object', () => {
  const objects = new Set(['"o"', '"p"']);
  it.each([
    ['{"o":{"a":1,"a":2}}'],
    ['{"b":{"a":1},"o":{"a":[{"a":1}],"\\u0061":2}}'],
    ['{"\\u006f":{"a":{"a":1},"a":{"a":1}}}'],
    ['{"o":{},"p":{"":1,"":2}}'],
    ['{"o":{"a":1},"o":{"b":1}}'],
  ])('comes twice in %s', (json) => expect(faultOf(json, objects)).toBe('repeated'));

  it.each([
    ['{"o":{"a":1,"b":{"a":1,"a":2}},"a":1}'],
    ['{"o":{"a":"a","b":"a"},"p":{"a":1}}'],
    ['{"data":{"a":1,"a":2},"o":{"a":1}}'],
    ['{"o":[{"a":1,"a":2}]}'],
    ['{"o":"a","b":{"a":1,"a":2}}'],
    ['{"data":{"o":{"a":1,"a":2}}}'],
  ])('does not in %s', (json) => expect(faultOf(json, objects)).toBeUndefined());
});

describe('depth', () => {
  const nested = (depth: number, open = '[', close = ']') => open.repeat(depth) + close.repeat(depth);
  const body = (value: string) => `{"a":1,"data":${value},"b":2}`;

  it.each([
    ['arrays', '[', ']'],
    ['objects', '{"x":', '}'],
  ])('a value may be 100 deep: %s', (_name, open, close) => {
    const value = (depth: number) => `${open.repeat(depth)}1${close.repeat(depth)}`;
    expect(faultOf(body(value(DEEPEST_VALUE)))).toBeUndefined();
    expect(faultOf(body(value(DEEPEST_VALUE + 1)))).toBe('deep');
  });

  it('counts only values that are open at the same time, and no brackets inside strings', () => {
    expect(faultOf(body(`[${Array(500).fill(nested(50)).join()}]`))).toBeUndefined();
    expect(faultOf(body(JSON.stringify(nested(500))))).toBeUndefined();
    expect(faultOf(body(`[${nested(60)},${nested(100)}]`))).toBe('deep');
  });
});

describe('the work', () => {
  const SIZE = 65_536;

  /** A string that counts how many of its characters were read. */
  function counted(text: string): { text: JsonText; reads: () => number } {
    let reads = 0;
    return {
      text: {
        length: text.length,
        charCodeAt: (at) => (reads++, text.charCodeAt(at)),
        slice: (from, to) => ((reads += to! - from!), text.slice(from, to)),
      },
      reads: () => reads,
    };
  }

  function expectLinear(text: string): void {
    const { text: watched, reads } = counted(text);
    faultOf(watched);
    expect([text.slice(0, 20), reads() <= 2 * text.length]).toEqual([text.slice(0, 20), true]);
  }

  it.each([
    ['escaped quotation marks without an end', `{"${'\\"'.repeat(SIZE / 2)}`],
    ['the same, and a lone backslash', `{"${'\\"'.repeat(SIZE / 2)}\\`],
    ['quotation marks', '"'.repeat(SIZE)],
    ['backslashes', `{"${'\\'.repeat(SIZE)}`],
    ['colons behind a long name', `{"${'a'.repeat(SIZE / 2)}"${':'.repeat(SIZE / 2)}`],
    ['the same with an escape', `{"\\u0061${'a'.repeat(SIZE / 2)}"${':'.repeat(SIZE / 2)}`],
    ['brackets that only close', `{"a":1${'}'.repeat(SIZE)}`],
    ['many names', `{${Array.from({ length: 7000 }, (_, i) => `"${i}":1`).join()}}`],
    ['many names with escapes', `{${Array.from({ length: 5000 }, (_, i) => `"\\t${i}":1`).join()}}`],
  ])('reads each character of %s twice at most', (_name, text) => expectLinear(text));

  it('… and of 2,000 texts at random', () => {
    const parts = ['"', '\\', '\\"', ':', '{', '}', '[', ']', ',', 'a', '\\u0061', '{"a":', '"b":1,', ' '];
    let seed = 42;
    const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
    for (let i = 0; i < 2000; i++) {
      const few = Array.from({ length: 1 + random(4) }, () => parts[random(parts.length)]!);
      expectLinear(Array.from({ length: random(500) }, () => few[random(few.length)]!).join(''));
    }
  });
});

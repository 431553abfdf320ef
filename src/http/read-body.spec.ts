import { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import type { Request, Response } from 'express';
import { OAuthError } from '../errors/oauth-error.js';
import { Form } from './form.js';
import { OptionalObject } from './parameter.js';
import { readBody } from './read-body.js';

const PLAIN = 'application/json';
/** The same type, as body-parser reads it. */
const FULL = 'application/json; charset=utf-8';

class Inner {}
class Outer {
  @OptionalObject(Inner)
  o?: Inner;
}

/** What becomes of a body that arrives in pieces: its value, or the error. */
function read(contentType: string, pieces: readonly Buffer[]): Promise<unknown> {
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const headers = { 'content-type': contentType, 'content-length': String(bytes) };
  const router = { stack: [{ route: { path: '/', methods: { post: true } }, match: () => true }] };
  const message = { method: 'POST', path: '/', headers, app: { router }, socket: { readable: true } };
  const request = Object.assign(Readable.from(pieces, { objectMode: false }), message) as unknown as Request;
  return new Promise((resolve) => {
    const next = (error?: unknown): void =>
      resolve(error instanceof OAuthError ? error.body : (error ?? { value: request.body as unknown }));
    void readBody(request, {} as Response, next);
  });
}

/** Both ways, which must be one: `toEqual` would take `{"__proto__":1}` for `{}`. @returns whether it was refused */
async function expectSame(pieces: readonly Buffer[]): Promise<boolean> {
  const [plain, full] = await Promise.all([read(PLAIN, pieces), read(FULL, pieces)]);
  if (!isDeepStrictEqual(plain, full)) expect([Buffer.concat(pieces).toString(), plain]).toBe(full);
  return 'error' in (plain as object);
}

const nested = (depth: number): string => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`;

const BODIES = [
  [
    '',
    ' ',
    '\n\t\r ',
    '{}',
    ' {} ',
    '[]',
    '[1,{"a":1,"a":2}]',
    'null',
    'true',
    '1',
    '"a"',
    '"a:b"',
    '{',
    '}',
  ],
  [
    '{"a":1}',
    '{"a":1,}',
    '{a:1}',
    "{'a':1}",
    '{"a":1}x',
    '{"a":1}{"a":1}',
    '{"a" :1}',
    '{"a":01}',
    '{"a":-0}',
  ],
  ['{"a":1e999}', '{"a":12345678901234567890}', '{"a":NaN}', '{"a":"\t"}', '{"a":"\\t"}', '{"a":"\\x"}'],
  ['{"a":1,"a":2}', '{"a":1,"\\u0061":2}', '{"a" :1,"a"\n:2}', '{"a":"x","b":1,"a":"x"}', '{"":1,"":2}'],
  [
    '{"a":"\\"","a":""}',
    '{"a":1,"a":"\\u003a"}',
    '{"a":"a","A":"a"}',
    '{"é":1,"\\u00e9":2}',
    '{"1":1,"1":2}',
  ],
  ['{"__proto__":1}', '{"__proto__":1,"__proto__":2}', '{"__proto__":{"a":1}}', '{"constructor":{"a":1}}'],
  [
    '{"hasOwnProperty":1,"toString":null}',
    '{"length":1,"a":"b"}',
    '{"a":null,"b":[],"c":{}}',
    '{"toJSON":1}',
  ],
  ['{"o":{"a":1,"a":2}}', '{"p":{"a":1,"a":2}}', '{"o":{"a":[{"a":1,"a":1}]}}', '{"\\u006f":{"a":1,"a":2}}'],
  [
    '{"a":"\\ud800"}',
    '{"a":"\\udc00\\ud800"}',
    '{"a":"😀"}',
    '{"a":"\\u0000"}',
    '{"a":"\u0000"}',
    '\u0000{}',
  ],
  [
    '\ufeff',
    '\ufeff{"a":1}',
    '\ufeff\ufeff{"a":1}',
    '\ufeff{"a":1,"a":2}',
    '{"\ufeff":1}',
    ' \ufeff{}',
    '\u00a0{}',
  ],
  [nested(100), nested(101), nested(30_000), `${nested(30_000)}x`, '['.repeat(60_000), '{"a":'.repeat(9_000)],
  ['{"a":1,"a":{"a":1},"b":', `{"a":1,"a":2,"b":${'['.repeat(200)}`, `{"a":"https://a.example/?b=c:d"}`],
]
  .flat()
  .map((text) => Buffer.from(text));

const BYTES = [
  '7b2261223a22ff227d',
  '7b2261223a22eda080227d',
  '7b2261223a22c3227d',
  '7b22ff223a312c22fe223a327d',
  'efbb',
  'fffe7b007d00',
  '7b7dc3',
  '7b7de282',
  'c080',
  'f48fbfbf',
];

describe('JSON in the plain way, and in the way of body-parser', () => {
  beforeAll(() => expect(new Outer()).toBeInstanceOf(Outer)); // the decorator has made `o` a parameter that is an object

  it.each([...BODIES, ...BYTES.map((hex) => Buffer.from(hex, 'hex'))])('%#: the same', async (bytes) => {
    await expectSame([bytes]);
  });

  it.each(['{"a":"é","b":"😀"}', '\ufeff{"a":"ÿ","a":"€"}', '{"é":1,"\\u00e9":2}', '{"a":"x"}'])(
    '%s, cut anywhere',
    async (text) => {
      const bytes = Buffer.from(text);
      for (let at = 0; at <= bytes.length; at++)
        await expectSame([bytes.subarray(0, at), bytes.subarray(at)]);
      await expectSame(Array.from(bytes, (byte) => Buffer.of(byte)));
    },
  );

  it('of 4,000 texts at random', async () => {
    let seed = 1;
    const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
    const one = <T>(of: readonly T[]): T => of[random(of.length)]!;
    const blank = (): string => one(['', '', '', ' ', '\n']);
    const name = (): string =>
      one(['"a"', '"b"', '"o"', '"\\u0061"', '"__proto__"', '"é"', '""', '"a:b"', '"\\""', '"1"']);
    const scalar = (): string =>
      one(['1', '-0', 'null', 'true', '1.5e3', '"x"', '"a:b"', '"\\\\"', '"\\"a\\":1"', '"{}"', '""']);
    const value = (depth: number): string => {
      const kind = random(depth > 3 ? 4 : 6);
      if (kind === 4) return `[${Array.from({ length: random(3) }, () => value(depth + 1)).join()}]`;
      return kind === 5 ? object(depth + 1) : scalar();
    };
    const object = (depth: number): string =>
      `{${Array.from({ length: random(5) }, () => `${blank()}${name()}${blank()}:${blank()}${value(depth)}`).join()}}`;
    const damaged = (text: string): string => {
      const at = random(text.length + 1);
      return (
        text.slice(0, at) +
        one(['', '"', '\\', ':', ',', '}', '{', '\ufeff', '\ud800']) +
        text.slice(at + random(2))
      );
    };
    const outcomes = { value: 0, error: 0 };
    for (let i = 0; i < 4000; i++) {
      const text = object(0);
      const bytes = Buffer.from(random(3) === 0 ? damaged(text) : text);
      const at = random(bytes.length + 1);
      outcomes[(await expectSame([bytes.subarray(0, at), bytes.subarray(at)])) ? 'error' : 'value']++;
    }
    expect(outcomes.value).toBeGreaterThan(1000);
    expect(outcomes.error).toBeGreaterThan(1000);
  });
});

describe('a form', () => {
  const form = async (text: string, charset = ''): Promise<unknown> =>
    read(`application/x-www-form-urlencoded${charset}`, [Buffer.from(text)]);

  it.each<[string, Record<string, unknown>]>([
    ['a=b', { a: 'b' }],
    ['a=b]=c', { a: 'b]=c' }], // fuzz-bodies.spec.ts: that was a parameter `a=b]`
    ['a=1&a=b]=c', { a: ['1', 'b]=c'] }],
    ['a=%5D=', { a: ']=' }],
    ['a[]=1&a[b]=2', { 'a[]': '1', 'a[b]': '2' }],
    ['a=1+2%20%2B%C3%A9&&=x', { a: '1 2 +é', '': 'x' }],
    ['__proto__=1&__proto__=2', { ['__proto__']: ['1', '2'] }],
  ])('%s has the names before each first =', async (text, members) => {
    const { value } = (await form(text)) as { value: object };
    expect(Object.entries(value)).toEqual(Object.entries(members));
    expect(value).toBeInstanceOf(Form);
  });

  it('has 100 parameters at most, in UTF-8', async () => {
    expect(await form('a=1&'.repeat(99))).toHaveProperty('value');
    expect(await form('a=1&'.repeat(100))).toMatchObject({ error: 'invalid_request' });
    expect(await form('a=1', '; charset=UTF-8')).toHaveProperty('value');
    expect(await form('a=1', '; charset=iso-8859-1')).toMatchObject({ error: 'invalid_request' });
  });
});

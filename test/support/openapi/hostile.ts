import fc, { type Arbitrary } from 'fast-check';
import type { Schema } from '../../../openapi/page/document.js';
import { document } from './document.js';

const NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'then',
  'length',
  'a[]',
  'a[b]',
];
const TEXTS = [
  ...NAMES,
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  '\u202e',
  '\uffff',
  'null',
  '-1',
  '1e999',
  '../../etc/passwd',
  '<script>alert(1)</script>',
  "' OR 1=1 --",
  '%00',
  '%FF',
  'a'.repeat(10_000),
  '\r\nSet-Cookie: a=b',
  'javascript:alert(1)',
  'http://localhost:3000/oauth2/authorize',
];

/** Text that nobody means well with. */
export const hostileText: Arbitrary<string> = fc.oneof(
  fc.constantFrom(...TEXTS),
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.string({ maxLength: 300 }),
);

const DEEP = JSON.parse(`${'['.repeat(150)}${']'.repeat(150)}`) as unknown;

/** The same for JSON. */
export const hostileValue: Arbitrary<unknown> = fc.oneof(
  hostileText,
  fc.jsonValue(),
  fc.constantFrom<unknown>(null, true, 0, -1, 1.5, 1e308, [], {}, [['x']], ['a', 'b'], { a: 1 }, DEEP),
);

export const hostileName: Arbitrary<string> = fc.oneof(
  fc.constantFrom(...NAMES),
  fc.string({ maxLength: 20 }),
);

function resolve(schema: Schema): Schema {
  return schema.$ref ? document.components.schemas[schema.$ref.split('/').at(-1)!]! : schema;
}

/** Values that a schema allows; those of the examples come often. */
export function valid(schema: Schema): Arbitrary<unknown> {
  const {
    anyOf,
    enum: words,
    type,
    format,
    pattern,
    properties,
    required = [],
    ...rest
  } = resolve(schema) as Schema & {
    examples?: unknown[];
  };
  if (anyOf) return fc.oneof(...anyOf.map(valid));
  if (words) return fc.constantFrom(...words);
  const examples = rest.examples?.length ? [{ weight: 3, arbitrary: fc.constantFrom(...rest.examples) }] : [];
  const of = (arbitrary: Arbitrary<unknown>) => fc.oneof(...examples, { weight: 1, arbitrary });
  if (type === 'object') {
    const members = Object.fromEntries(
      Object.entries(properties ?? {}).map(([name, one]) => [name, valid(one)]),
    );
    return fc.record(members, { requiredKeys: [...required], noNullPrototype: true });
  }
  if (type === 'integer') return of(fc.integer({ min: rest.minimum ?? 0, max: rest.maximum ?? 1e9 }));
  if (format === 'uuid') return of(fc.uuid());
  if (type === 'string') {
    if (pattern !== undefined && !pattern.includes('(?!')) return of(fc.stringMatching(new RegExp(pattern)));
    return of(fc.string({ minLength: 1, maxLength: Math.min(rest.maxLength ?? 100, 100) }));
  }
  return of(fc.jsonValue());
}

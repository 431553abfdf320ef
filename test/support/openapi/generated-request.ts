import fc, { type Arbitrary } from 'fast-check';
import { routes, tokenOf, type Route } from './document.js';
import { hostileName, hostileText, hostileValue, valid } from './hostile.js';

type Token = 'accessToken' | 'serviceKey' | 'garbage' | 'basic' | 'none';

export interface GeneratedRequest {
  readonly method: string;
  /** With values of examples, which are not living. */
  readonly url: string;
  readonly token: Token;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const TYPES = [
  'application/json',
  'application/x-www-form-urlencoded',
  'application/json; charset=utf-16',
  'application/json; charset=nonsense',
  'text/plain',
  'multipart/form-data; boundary=x',
  '',
];

const mostly = <T>(usual: Arbitrary<T>, other: Arbitrary<T>): Arbitrary<T> =>
  fc.oneof({ weight: 5, arbitrary: usual }, { weight: 1, arbitrary: other });

/** Requests that the document allows, and those that nearly do, or do not at all. */
export const generatedRequest: Arbitrary<GeneratedRequest> = fc
  .constantFrom(...routes)
  .chain((route) =>
    fc.record({
      method: mostly(fc.constant(route.method), fc.constantFrom(...METHODS)),
      url: urlOf(route),
      token: mostly<Token>(
        fc.constant(tokenOf(route.operation) ?? 'none'),
        fc.constantFrom<Token>('accessToken', 'serviceKey', 'garbage', 'basic', 'none'),
      ),
      headers: headersOf(route),
      body: bodyOf(route),
    }),
  )
  .map(({ headers, body, ...rest }) => ({
    ...rest,
    headers: body.type === '' ? headers : { ...headers, 'Content-Type': body.type },
    body: body.text,
  }));

function urlOf({ path, operation: { parameters = [] } }: Route): Arbitrary<string> {
  const inPath = parameters.filter(({ in: place }) => place === 'path');
  const inQuery = parameters.filter(({ in: place }) => place === 'query');
  const one = (schema: (typeof parameters)[number]['schema'], example: unknown): Arbitrary<string> =>
    mostly(fc.oneof(fc.constant(example), valid(schema)).map(String), hostileText);
  const values = fc.tuple(...inPath.map(({ schema, example }) => one(schema, example)));
  const query = fc.tuple(
    ...inQuery.map(({ name, schema, example }) =>
      fc
        .array(one(schema, example), { maxLength: 2, minLength: 0 })
        .map((all) => all.map((value) => [name, value] as const)),
    ),
    fc.array(fc.tuple(hostileName, hostileText), { maxLength: 2 }),
  );
  const usual = fc.tuple(
    ...inQuery.map(({ name, schema, example }) =>
      one(schema, example).map((value) => [[name, value] as const]),
    ),
  );
  return fc.tuple(values, mostly(usual, query)).map(([parts, pairs]) => {
    const at = inPath.reduce(
      (so, { name }, index) => so.replace(`{${name}}`, encoded(parts[index]!) || 'x'),
      path,
    );
    const search = pairs.flat().map(([name, value]) => `${encoded(name)}=${encoded(value)}`);
    return search.length > 0 ? `${at}?${search.join('&')}`.slice(0, 12_000) : at.slice(0, 12_000);
  });
}

/** Text as it is sent; what is not well-formed becomes bytes that are not UTF-8. */
function encoded(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : '%ED%A0%80';
}

function headersOf({ operation: { parameters = [] } }: Route): Arbitrary<Record<string, string>> {
  const named = parameters.filter(({ in: place }) => place === 'header').map(({ name }) => name);
  const value = fc.string({ maxLength: 300 }).filter((text) => /^[\x20-\x7e]*$/.test(text));
  const all = [
    ...named,
    'DPoP',
    'Last-Event-ID',
    'Idempotency-Key',
    'Accept',
    'Origin',
    'Content-Encoding',
    'If-None-Match',
  ];
  return mostly(fc.constant({}), fc.dictionary(fc.constantFrom(...all), value, { maxKeys: 3 }));
}

function bodyOf({
  operation: { requestBody },
}: Route): Arbitrary<{ type: string; text: string | undefined }> {
  const none = fc.constant({ type: '', text: undefined });
  const anything = fc.record({ type: fc.constantFrom(...TYPES), text: hostileBody });
  const content = Object.entries(requestBody?.content ?? {});
  if (content.length === 0) return mostly<{ type: string; text: string | undefined }>(none, anything);
  const [, { schema, examples = {} }] = content[0]!;
  const values = Object.values(examples).map(({ value }) => value);
  const type = mostly(fc.constantFrom(...content.map(([name]) => name)), fc.constantFrom(...TYPES));
  const meant = fc
    .record({
      value: fc.oneof(fc.constantFrom(...values), valid(schema)),
      more: fc.array(fc.tuple(mostly(memberName(values), hostileName), hostileValue), { maxLength: 2 }),
      isWhole: mostly(fc.boolean(), fc.constant(true)),
      type,
    })
    .map(({ value, more, isWhole, type: as }) => {
      const pairs = [...Object.entries(value as object), ...(isWhole ? [] : more)] as [string, unknown][];
      return { type: as, text: as.includes('urlencoded') ? formOf(pairs) : jsonOf(pairs) };
    });
  return mostly<{ type: string; text: string | undefined }>(meant, fc.oneof(none, anything));
}

function memberName(values: readonly unknown[]): Arbitrary<string> {
  const names = [...new Set(values.flatMap((value) => Object.keys(value as object)))];
  return names.length > 0 ? fc.constantFrom(...names) : hostileName;
}

/** By hand: a member may come twice. */
function jsonOf(pairs: readonly [string, unknown][]): string {
  return `{${pairs.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`;
}

function formOf(pairs: readonly [string, unknown][]): string {
  return pairs
    .map(
      ([name, value]) =>
        `${encoded(name)}=${encoded(typeof value === 'string' ? value : JSON.stringify(value))}`,
    )
    .join('&');
}

const hostileBody = fc.oneof(
  hostileText,
  fc.json(),
  fc.constantFrom(
    '',
    'null',
    '[]',
    '"x"',
    '{',
    '{"a":1,"a":2}',
    `{"data":${'['.repeat(2000)}${']'.repeat(2000)}}`,
    `{"a":"${'x'.repeat(70_000)}"}`,
    '&'.repeat(5000),
    'a&'.repeat(200),
    '%',
    '{"__proto__":{"user_id":"x"}}',
  ),
);

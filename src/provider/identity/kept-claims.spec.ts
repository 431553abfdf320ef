import { droppedClaims, keepClaims } from './kept-claims.js';

const reasons = (claims: unknown): Record<string, string> =>
  Object.fromEntries(keepClaims(claims).dropped.map(({ name, why }) => [name, why]));

it('keeps any JSON, lists for roles, groups and entitlements, and the names of prototypes as mere names', () => {
  const given = JSON.parse(
    '{"roles":"admin","groups":["a","b"],"plan":{"__proto__":{"x":1},"seats":[1,null]},"constructor":true}',
  ) as unknown;
  const { kept, dropped } = keepClaims(given);
  expect(JSON.stringify(kept)).toBe(
    '{"roles":["admin"],"groups":["a","b"],"plan":{"__proto__":{"x":1},"seats":[1,null]},"constructor":true}',
  );
  expect([dropped, Object.getPrototypeOf(kept)]).toEqual([[], Object.prototype]);
  expect(keepClaims({ team: null, level: undefined, seats: JSON.parse('1e999') as number })).toEqual({
    kept: {},
    dropped: [],
  });
});

it.each<[string, unknown, string]>([
  ['sub', 'another user', 'name of the token'],
  ['exp', 1, 'name of the token'],
  ['x'.repeat(65), 1, 'name of the token'],
  ['', 1, 'name of the token'],
  ['line\nbreak', 1, 'visible characters'],
  ['__proto__', { admin: true }, 'name of the token'],
  ['roles', ['admin', 7], 'list of texts'],
  ['groups', { admin: true }, 'list of texts'],
  ['email', { admin: true }, 'is not a text'],
  ['nul', 'a\0', 'NUL'],
  ['lone', ['\ud800'], 'lone surrogate'],
  ['big', 1n, 'not JSON'],
  ['work', () => 1, 'not JSON'],
])('drops %j: %j', (name, value, why) => {
  const claims = Object.fromEntries([
    [name, value],
    ['team', 'a'],
  ]);
  const { kept, dropped } = keepClaims(claims);
  expect(kept).toEqual({ team: 'a' });
  expect(dropped).toEqual([{ name, why: expect.stringContaining(why) as string }]);
});

it('keeps texts that only look like escapes', () => {
  const claims = { path: String.raw`C:\u0000 \ud800`, key: '🔑' };
  expect(keepClaims(claims).kept).toEqual(claims);
});

it('keeps 100 claims of 4096 bytes in all, and drops a claim, not the sign-in, beyond', () => {
  const many = Object.fromEntries(Array.from({ length: 102 }, (_, i) => [`n${i}`, i]));
  expect(Object.keys(keepClaims(many).kept)).toHaveLength(100);
  expect(reasons(many)).toMatchObject({ n100: 'is beyond 100 claims', n101: 'is beyond 100 claims' });
  const text = 'ä'.repeat(2044);
  const full = { a: text.slice(2), b: 1 }; // {"a":"…","b":1} without 4 bytes
  expect(Buffer.byteLength(JSON.stringify(full))).toBe(4098);
  expect(reasons(full)).toEqual({ b: 'is beyond 4096 bytes in all' });
  expect(reasons({ a: text, c: 'x'.repeat(5000), b: 1 })).toEqual({
    b: 'is beyond 4096 bytes in all',
    c: 'is beyond 4096 bytes in all',
  });
  expect(reasons({ a: text.slice(4), b: 1 })).toEqual({});
});

it.each([['text'], [[]], [7]])('drops claims that are no object: %j', (claims) => {
  expect(keepClaims(claims)).toEqual({ kept: {}, dropped: [{ name: 'claims', why: 'is not an object' }] });
});

it('describes them without values, and at most ten', () => {
  expect(droppedClaims(keepClaims({ a: 1 }))).toBeUndefined();
  expect(droppedClaims(keepClaims({ roles: { s3cret: 1 } }))).toBe(
    'dropped claims: roles (is not a list of texts)',
  );
  const many = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`n${i}`, 's3cret\0']));
  expect(droppedClaims(keepClaims(many))).toMatch(
    /^dropped claims: n0 \([^)]+\), .*n9 \([^)]+\), and 2 others$/,
  );
});

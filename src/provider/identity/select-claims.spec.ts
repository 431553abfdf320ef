import { ELSEWHERE } from './claims.js';
import { claimMaps, describeClaims, selectClaims, validClaims } from './select-claims.js';

it('keeps any JSON, lists for roles, groups and entitlements, and the names of prototypes as mere names', () => {
  const input = JSON.parse(
    '{"roles":"admin","groups":["a","b"],"plan":{"__proto__":{"x":1},"seats":[1,null]},"constructor":true}',
  ) as unknown;
  const { accepted, dropped } = selectClaims(input);
  expect(JSON.stringify(accepted)).toBe(
    '{"roles":["admin"],"groups":["a","b"],"plan":{"__proto__":{"x":1},"seats":[1,null]},"constructor":true}',
  );
  expect([dropped, Object.getPrototypeOf(accepted)]).toEqual([[], Object.prototype]);
  expect(validClaims({ team: null, level: undefined })).toEqual({
    accepted: {},
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
  ['tenant', 2 ** 53, '2^53'],
  ['tenant', { of: [1, { id: -(2 ** 53) }] }, '2^53'],
  ['seats', JSON.parse('1e400'), '2^53'],
  ['seats', { n: [NaN] }, '2^53'],
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
  const { accepted, dropped } = selectClaims(claims);
  expect(accepted).toEqual({ team: 'a' });
  expect(dropped).toEqual([{ name, why: expect.stringContaining(why) as string }]);
});

it('keeps texts that only look like escapes', () => {
  const claims = { path: String.raw`C:\u0000 \ud800`, key: '🔑' };
  expect(selectClaims(claims).accepted).toEqual(claims);
});

it.each<[unknown]>([[['admin', 7]], [{ admin: true }], [[['a']]], [7]])(
  'refuses roles of the application: %j',
  (roles) =>
    expect(validClaims({ roles })).toEqual({
      accepted: {},
      dropped: [{ name: 'roles', why: 'is not a list of texts' }],
    }),
);

it.each([[2 ** 53 - 1], [-(2 ** 53 - 1)], [0.1], [1.5e-9], [-0], [123456789.125], ['9007199254740993']])(
  'keeps what no reader changes: %j',
  (value) =>
    expect(validClaims({ value: { in: [value] } }).accepted).toEqual({
      value: { in: [Object.is(value, -0) ? 0 : value] },
    }),
);

it.each([['text'], [[]], [7]])('drops claims that are no object: %j', (claims) => {
  expect(validClaims(claims)).toEqual({
    accepted: {},
    dropped: [{ name: 'claims', why: 'is not an object' }],
  });
});

it('describes them without values, and at most ten', () => {
  expect(describeClaims(selectClaims({ a: 1 }))).toEqual([]);
  expect(describeClaims(selectClaims({ roles: [{ s3cret: 1 }], a: '\0' }))).toEqual([
    'dropped claims: a (has a NUL or a lone surrogate)',
    'claims to look at: roles (is no list of texts: let its path name the member (roles.name))',
  ]);
  const many = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`n${i}`, 's3cret\0']));
  expect(describeClaims(selectClaims(many))).toEqual([
    expect.stringMatching(/^dropped claims: n0 \([^)]+\), .*n9 \([^)]+\), and 2 others$/),
  ]);
});

describe('map_<claim>', () => {
  const keep = (map: string, groups: unknown, claims = 'groups=g,plan=p') =>
    selectClaims({ groups, plan: groups }, claimMaps({ claims, map_groups: map }));
  it.each<[string, unknown, unknown]>([
    ['1=admins,2=staff', ['2', '1', '3'], ['staff', 'admins']],
    ['1=admins,2=admins', ['1', '2'], ['admins']],
    ['1=admins,*', ['1', '2', 'x'], ['admins', '2', 'x']],
    ['1 = admins , *', ['1'], ['admins']],
    ['CN%3DAdmins%2CDC%3Dx=admins%2C%20all', ['CN=Admins,DC=x'], ['admins, all']],
    ['Domain%20Users=users', 'Domain Users', ['users']],
    ['42=admins', [42, 43], ['admins']],
    ['admin=boss', { admin: { 1: 'x' }, other: { 1: 'x' } }, ['boss']],
    ['1=a', ['2'], []],
    ['__proto__=a,constructor=b', ['__proto__', 'constructor', 'toString'], ['a', 'b']],
  ])('%s of %j', (map, groups, expected) => expect(keep(map, groups).accepted['groups']).toEqual(expected));

  it('is silent about a text with separators that it names, and leaves other claims', () => {
    expect(keep('Domain%20Users=users', 'Domain Users')).toMatchObject({
      noted: [],
      accepted: { plan: 'Domain Users' },
    });
    expect(keep('x=users,*', 'Domain Users').noted).toHaveLength(1);
  });
});

it('names what the provider only refers to', () => {
  const { accepted, noted } = selectClaims({ groups: ELSEWHERE, address: ELSEWHERE, plan: 'x' });
  expect([accepted, noted.map(({ name }) => name)]).toEqual([{ plan: 'x' }, ['groups', 'address']]);
});

import { claimAt, identityOf, isComplete, mappedClaims, droppedClaims, keepClaims } from './claims.js';

const ANSWER = {
  sub: 'u-1',
  name: '',
  login: 'ada',
  id: 42,
  big: 2 ** 53,
  admin: true,
  nobody: null,
  user: { id: 'nested', mails: ['a@x.example', 'b@x.example'] },
  'https://app.example/id': 'named with dots',
};

describe('claimAt', () => {
  it.each([
    ['sub', 'u-1'],
    ['id', '42'],
    ['user.id', 'nested'],
    ['user.mails.1', 'b@x.example'],
    ['https://app.example/id', 'named with dots'],
    ['name,login', 'ada'],
    ['nothing, login', 'ada'],
    ['https://img.example/{user.id}/{id}.png', 'https://img.example/nested/42.png'],
  ])('%s is there', (path, text) => expect(claimAt(ANSWER, path, 'text')).toBe(text));

  it.each([
    '',
    'nothing',
    'nobody',
    'nobody.id',
    'name',
    'user',
    'user.nothing',
    'sub.length',
    'admin',
    'big',
    'constructor.name',
    '__proto__',
    'user.mails.length.x',
    'https://img.example/{sub}/{nothing}.png',
    'https://img.example/{sub}/{name}.png',
  ])('%s is not', (path) => expect(claimAt(ANSWER, path, 'text')).toBeUndefined());
});

describe('a template', () => {
  const person = {
    given_name: 'José',
    family_name: 'de la Cruz & Söhne',
    middle_name: '',
    picture: 'https://img.example/ä?size=1',
    tenant: 'a:b',
    id: 'ü/1',
    lone: '\ud800',
  };

  it.each([
    ['name', '{given_name} {family_name}', 'José de la Cruz & Söhne'],
    ['name', '{given_name} {middle_name} {id}', 'José ü/1'],
    ['name', '{nothing}{middle_name}', undefined],
    ['name', 'Dr. {nothing}', undefined],
    ['name', '{nothing} {middle_name},given_name', 'José'],
    ['text', '{given_name}@{id}', 'José@ü/1'],
    ['text', '{nothing}@corp.example', undefined],
    [
      'url',
      'https://img.example/{id}.png?n={family_name}',
      'https://img.example/%C3%BC%2F1.png?n=de%20la%20Cruz%20%26%20S%C3%B6hne',
    ],
    ['url', '{picture}&n={id}', 'https://img.example/ä?size=1&n=%C3%BC%2F1'],
    ['url', 'https://img.example/{lone}', 'https://img.example/%EF%BF%BD'],
    ['url', 'https://img.example/{nothing}', undefined],
    ['id', '{id}@{given_name}', 'ü/1@José'],
    ['id', '{id}:{tenant}', 'ü/1:a:b'],
    ['id', '{tenant}:{id}', undefined], // could be the id of user `b:ü/1` of tenant `a`
    ['id', '{tenant}|{id}', 'a:b|ü/1'],
  ] as const)('of a %s: %s', (kind, template, text) => expect(claimAt(person, template, kind)).toBe(text));
  it('is of the kind of its field', () => {
    expect(
      identityOf(person, {
        claim_user_id: '{id}',
        claim_username: '{given_name} {nothing}',
        claim_email: '{given_name}@x.example',
        claim_avatar_url: 'https://x.example/{id}',
      }),
    ).toEqual({
      provider_user_id: 'ü/1',
      username: 'José',
      email: 'José@x.example',
      avatar_url: 'https://x.example/%C3%BC%2F1',
    });
  });
});

describe('identityOf', () => {
  it('takes the standard claims unless options say otherwise', () => {
    const standard = { sub: '1', preferred_username: 'ada', name: 'Ada', email: 'a@x.example', picture: 'p' };
    expect(identityOf(standard, {})).toEqual({
      provider_user_id: '1',
      username: 'Ada',
      email: 'a@x.example',
      avatar_url: 'p',
    });
    expect(
      identityOf(standard, { claim_user_id: 'email', claim_username: 'preferred_username' }),
    ).toMatchObject({
      provider_user_id: 'a@x.example',
      username: 'ada',
    });
    expect(identityOf({ sub: '1' }, {})).toEqual({ provider_user_id: '1' });
  });

  const mails = [
    { value: 'a@x.example', verified: false },
    { value: 'b@x.example', verified: true },
  ];
  it.each<[string, object, string, boolean]>([
    ['of the claim beside it', { email: 'a@x.example', email_verified: 'false' }, 'email', false],
    ['of the whole answer', { verified: false, user: { email: 'a@x.example' } }, 'user.email', false],
    ['of the object that holds it', { user: { email: 'a@x', email_verified: false } }, 'user.email', false],
    ['of the first of a list', { mails }, 'mails.0.value', false],
    ['of one not there', { work: { verified: false }, email: 'a@x.example' }, 'work.mail,email', true],
    ['of an object elsewhere', { email: 'a@x.example', phone: { verified: false } }, 'email', true],
    [
      'of a claim with dots',
      { 'https://x.example/mail': 'a@x', verified: false },
      'https://x.example/mail',
      false,
    ],
  ])('knows the address for unverified, by the word %s', (_name, told, path, verified) => {
    const identity = identityOf({ sub: '1', ...told }, { claim_email: path });
    expect(identity.email).toEqual(expect.stringContaining('@'));
    expect(identity.email_verified).toBe(verified ? undefined : false);
  });

  it('has the claims that the settings name, as they are', () => {
    const answer = { sub: '1', realm_access: { roles: ['a'] }, 'https://x.example/t': { n: 1 }, none: null };
    const setting = 'roles=realm_access.roles, tenant=https://x.example/t,b=none,c=realm_access.none';
    const expected = { roles: ['a'], tenant: { n: 1 } };
    expect(identityOf(answer, { claims: setting })).toEqual({ provider_user_id: '1', claims: expected });
    const four = { ...answer, name: 'a', email: 'a@x.example', picture: 'p' };
    expect(isComplete(four, { claims: 'roles=realm_access.roles' })).toBe(true);
    expect(isComplete(four, { claims: setting })).toBe(false);
  });

  it.each([
    ['the whole answer', { email_verified: false }, { login: 'ada' }],
    [
      'the object with the address',
      { user: { email: 'b@x', verified: 'false' } },
      { login: 'ada', contact: 'a@x' },
    ],
    ['nothing', {}, { login: 'ada', contact: 'a@x', email: 'b@x' }],
  ])('has no claim with an address that is unverified by the word of %s', (_what, told, expected) => {
    const answer = { sub: '1', email: 'a@x', user: { email: 'b@x' }, login: 'ada', ...told };
    const setting = 'login=login,contact=email,email=user.email';
    expect(mappedClaims(answer, { claims: setting })).toEqual(expected);
  });

  it('is complete with four fields and all parts of a name, whatever is said of one', () => {
    const four = { sub: '1', name: 'a', email: 'a@x.example', picture: 'p', email_verified: false };
    expect(isComplete(four, {})).toBe(true);
    expect(isComplete({ ...four, email: undefined }, {})).toBe(false);
    expect(isComplete({ ...four, picture: undefined }, { claim_avatar_url: '' })).toBe(true);
    expect(isComplete(four, { claim_username: '{name} {family_name}' })).toBe(false);
    expect(isComplete({ ...four, family_name: 'b' }, { claim_username: '{name} {family_name}' })).toBe(true);
  });
});

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

import { TENANTS_DECIDE } from '../../platform/config/providers/presets.js';
import { claimAt, ELSEWHERE, identityOf, isComplete, mappedClaims } from './claims.js';

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
  ])('knows the address for unverified, by the word %s', (_name, word, path, verified) => {
    const identity = identityOf({ sub: '1', ...word }, { claim_email: path });
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
  ])('has no claim with an address that is unverified by the word of %s', (_what, word, expected) => {
    const answer = { sub: '1', email: 'a@x', user: { email: 'b@x' }, login: 'ada', ...word };
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

describe('paths of claims', () => {
  const answer = {
    sub: '1',
    resource_access: {
      'my.app': { roles: ['admin'] },
      'a,b': { roles: ['x'] },
      'c\\d': { roles: ['y'] },
      '{e}': 'z',
    },
    'urn:zitadel:iam:org:project:roles': { admin: { '1': 'corp.example' } },
    'https://my.app/roles': ['a'],
    'https://my.app/claims': { 'x.y': ['b'] },
    'cognito:groups': ['c'],
    teams: [{ name: 'a', of: [{ id: 1 }, { id: 2 }] }, { name: 'b' }, 'no object', null],
    text: 'Internal/everyone, admin',
    words: 'admin  editor',
    json: '["a", "b, c"]',
    bare: '[a, b]',
    'odd[]': 'x,y',
    _claim_names: { groups: 'src1', 'n.m': 'src1' },
  };
  it.each<[string, unknown]>([
    ['resource_access.my\\.app.roles', ['admin']],
    ['resource_access.my.app.roles', undefined],
    ['resource_access.a\\,b.roles', ['x']],
    ['resource_access.c\\\\d.roles', ['y']],
    ['resource_access.{e}', 'z'],
    ['urn:zitadel:iam:org:project:roles', { admin: { '1': 'corp.example' } }],
    ['https://my.app/roles', ['a']],
    ['https://my\\.app/roles', ['a']],
    ['https://my\\.app/claims.x\\.y', ['b']],
    ['cognito:groups', ['c']],
    ['teams.name', ['a', 'b']],
    ['teams.of.id', [1, 2]],
    ['teams.0.name', 'a'],
    ['teams.length', undefined],
    ['teams.nothing', undefined],
    ['text[]', ['Internal/everyone', 'admin']],
    ['words[]', ['admin', 'editor']],
    ['json[]', ['a', 'b, c']],
    ['bare[]', ['a', 'b']],
    ['teams.name[]', ['a', 'b']],
    ['odd\\[]', 'x,y'],
    ['groups', ELSEWHERE],
    ['groups.of', ELSEWHERE],
    ['n\\.m', ELSEWHERE],
    ['hasOwnProperty', undefined],
  ])('%s', (path, value) =>
    expect(mappedClaims(answer, { claims: `c=${path}` })).toEqual(value === undefined ? {} : { c: value }),
  );

  it('of an id have one claim only', () =>
    expect(() => claimAt({ a: '1', b: '2' }, 'a,b', 'id')).toThrow('several paths'));
});

describe('an id template joins no two users', () => {
  const parts = ['', 'a', 'b', ':', '::', 'a:', ':a', 'a:b', ':::', 'aa', 'ab', 'aba'];
  it.each(['{a}::{b}', '{a}:{b}', '{a}aba{b}', '{a}aa{b}', 'x{a}::{b}::{c}', '{a}{b}', '{a}:{b}:'])(
    '%s',
    (template) => {
      const ids = new Map<string, string>();
      for (const a of parts)
        for (const b of parts)
          for (const c of template.includes('{c}') ? parts : ['']) {
            const id = claimAt({ a, b, c }, template, 'id');
            if (id === undefined) continue;
            expect([template, a, b, c, ids.get(id)]).toEqual([template, a, b, c, undefined]);
            ids.set(id, `${a} ${b} ${c}`);
          }
      expect(ids.size > 0).toBe(template !== '{a}{b}');
    },
  );
});

describe('an address of Entra ID', () => {
  const MANY = { tenants: '1,2' };
  const PRESET = { [TENANTS_DECIDE]: 'on' };
  it.each<[object, Record<string, string>, verified: boolean | undefined]>([
    [{}, MANY, false],
    [{}, PRESET, false],
    [{}, { ...PRESET, tenants: '1' }, true],
    [{}, {}, undefined],
    [{ xms_edov: true }, MANY, true],
    [{ xms_edov: '1' }, PRESET, true],
    [{ xms_edov: 1 }, MANY, true],
    [{ xms_edov: false }, MANY, false],
    [{ xms_edov: '0' }, MANY, false],
    [{ xms_edov: 'false' }, MANY, false],
    [{ email_verified: true }, MANY, false],
    [{ xms_edov: true, email_verified: false }, MANY, false],
  ])('%j with %j is verified: %s', (claims, options, verified) => {
    const identity = identityOf(
      { sub: '1', email: 'a@x.example', ...claims },
      { ...options, claims: 'email=email' },
    );
    expect([identity.email_verified, identity.claims]).toEqual([
      verified,
      verified === false ? {} : { email: 'a@x.example' },
    ]);
  });
});

describe('an address', () => {
  it.each<[object, string, verified: boolean | undefined]>([
    [{ email: 'a@x', email_verified: true }, 'email', true],
    [{ email: 'a@x', email_verified: 'true' }, 'email', true],
    [{ emails: [{ value: 'a@x', verified: true }] }, 'emails.0.value', true],
    [{ emails: [{ value: 'a@x', verified: false }] }, 'emails.0.value', false],
    [{ emails: [{ value: 'a@x' }, { value: 'b@x', verified: true }] }, 'emails.0.value', undefined],
    [{ email: 'a@x', user: { verified: true } }, 'email', undefined],
    [{ upn: 'b@x', email: 'a@x', email_verified: true }, 'upn,email', undefined],
    [{ upn: 'a@x', email: 'a@x', email_verified: true }, 'upn,email', true],
    [{ upn: '', email: 'a@x', email_verified: true }, 'upn,email', true],
    [{ mail: 'a@x', verified: true }, 'mail', true],
  ])('%j at %s is verified: %s', (claims, path, verified) => {
    expect(identityOf({ sub: '1', ...claims }, { claim_email: path }).email_verified).toBe(verified);
  });

  it.each<[object, string | null]>([
    [{ hd: 'corp.example' }, 'corp.example'],
    [{}, null],
    [{ hd: ['corp.example'] }, null],
  ])('of Google with %j has the hosted domain %j', (claims, domain) => {
    expect(identityOf({ sub: '1', ...claims }, { hosted_domain: 'on' }).hosted_domain).toBe(domain);
    expect(identityOf({ sub: '1', ...claims }, {}).hosted_domain).toBeUndefined();
  });
});

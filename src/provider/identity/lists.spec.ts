import { textsIn } from './lists.js';

// Shapes in which products send roles and groups.
it.each<[string, unknown, readonly string[]]>([
  ['a list (Keycloak, Okta, Entra ID, Authentik, GitLab)', ['a', 'b'], ['a', 'b']],
  ['one text (Ping, AD FS, Duende)', 'admin', ['admin']],
  ['numbers', [7, 'a'], ['7', 'a']],
  ['one number', 7, ['7']],
  ['RFC 7643', [{ value: 'u-1', display: 'Admins', $ref: 'x' }, { value: 'u-2' }], ['u-1', 'u-2']],
  ['names', [{ id: 1, name: 'admin', description: 'x' }, { name: 'b' }], ['admin', 'b']],
  ['one object', { name: 'admin' }, ['admin']],
  ['ZITADEL', { admin: { '312': 'corp.example' }, user: { '312': 'corp.example' } }, ['admin', 'user']],
  ['WordPress', { administrator: true, editor: false, author: null }, ['administrator']],
  ['a list of PHP', { '0': 'a', '2': 'b' }, ['a', 'b']],
  ['an empty list', [], []],
  ['an empty object', {}, []],
  ['null in a list', ['a', null], ['a']],
])('takes %s', (_name, value, texts) => expect(textsIn(value)).toEqual({ texts }));

it.each<[string, unknown, readonly string[], string]>([
  ['commas (WSO2)', 'Internal/everyone,admin', ['Internal/everyone,admin'], 'end its path with []'],
  ['spaces', 'admin editor', ['admin editor'], 'end its path with []'],
  ['JSON (Azure AD B2C)', '["a", "b"]', ['["a", "b"]'], 'end its path with []'],
  ['a distinguished name', 'CN=a,DC=x', ['CN=a,DC=x'], 'counts as one value'],
  ['a role of one tenant', [{ name: 'admin', tenant: 'b' }, 'x'], ['x'], 'has 1 of 2 entries'],
  ['a role that is off', [{ name: 'admin', active: false }], [], 'let its path name the member'],
  ['lists in a list', [['a'], 'b'], ['b'], 'has 1 of 2 entries'],
  ['a path that is too short (Keycloak)', { roles: ['a'] }, [], 'is no list of texts, but an object'],
  ['resource_access (Keycloak)', { app: { roles: ['a'] } }, [], 'is no list of texts, but an object'],
  ['ids beyond 2^53', [2 ** 53, 1], ['1'], 'has 1 of 2 entries'],
  ['true', true, [], 'is no list of texts'],
])('names %s in a warning', (_name, value, texts, why) =>
  expect(textsIn(value)).toEqual({ texts, why: expect.stringContaining(why) as string }),
);

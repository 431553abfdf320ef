import { readBasicPasswords } from './jwt.guard.js';

const basic = (credentials: string, scheme = 'Basic '): string =>
  scheme + Buffer.from(credentials).toString('base64');

it.each([
  ['as it was sent', basic('api:a-key_1.~+/=='), 'a-key_1.~+/==', 'a-key_1.~+/=='],
  ['encoded', basic('api:a%2Dkey%5f1%2E~%2B%2F%3D%3D'), 'a%2Dkey%5f1%2E~%2B%2F%3D%3D', 'a-key_1.~+/=='],
  ['with a plus, which is no blank', basic('api:a+b'), 'a+b', 'a+b'],
  ['with a stray %', basic('api:100%'), '100%', '100%'],
  ['no user name', basic(':key'), 'key', 'key'],
  ['no password', basic('api:'), '', ''],
  ['colons', basic('api:a:b'), 'a:b', 'a:b'],
  ['the scheme in another case', basic('a:b', 'bASIC  '), 'b', 'b'],
])('%s', (_name, header, ...passwords) => expect(readBasicPasswords(header)).toEqual(passwords));

it.each([
  undefined,
  '',
  'Basic',
  'Basic ',
  'Basic !',
  basic('no colon'),
  basic('a:b', 'Basic'),
  basic('a:b', 'Bearer '),
  `${basic('a:b')} x`,
  `Basic ${'='.repeat(10_000)}`,
])('%j holds none', (header) => expect(readBasicPasswords(header)).toBeUndefined());

import { readHeader } from './sign-jwt.js';

const token = (header: unknown): string =>
  `${Buffer.from(JSON.stringify(header)).toString('base64url')}.e30.c2ln`;
const OURS = { alg: 'ES256', typ: 'at+jwt', kid: 'k' };

describe('the header of an access token', () => {
  it('is exactly as ours are', () => expect(readHeader(token(OURS))).toEqual({ kid: 'k' }));

  it.each<[string, string]>([
    ['another algorithm', token({ ...OURS, alg: 'ES384' })],
    ['no algorithm', token({ ...OURS, alg: 'none' })],
    ['another kind of JWT', token({ ...OURS, typ: 'JWT' })],
    ['no kid', token({ alg: 'ES256', typ: 'at+jwt', x: 1 })],
    ['a kid that is no text', token({ ...OURS, kid: 7 })],
    ['a key of its own', token({ ...OURS, jwk: {} })],
    ['crit', token({ ...OURS, crit: [] })],
    ['no JSON', 'abc.e30.c2ln'],
    ['null', token(null)],
    ['nothing', ''],
  ])('with %s is none', (_name, text) => expect(readHeader(text)).toBeUndefined());
});

import { isOfSchemeBearer, readBearerToken } from './jwt.guard.js';

describe('a bearer token', () => {
  it.each<[string | undefined, string | undefined, boolean]>([
    [undefined, undefined, false],
    ['', undefined, false],
    ['Bearer abc', 'abc', true],
    ['bearer   aZ09-._~+/==', 'aZ09-._~+/==', true],
    ['Bearer', undefined, true],
    ['Bearer ', undefined, true],
    ['Bearer a b', undefined, true],
    ['Bearer =a', undefined, true],
    ['Bearer a=b', undefined, true],
    ['Bearer é', undefined, true],
    ['Bearerabc', undefined, false],
    ['x Bearer abc', undefined, false],
    ['Basic abc', undefined, false],
  ])('of %j', (header, token, isBearer) => {
    expect(readBearerToken(header)).toBe(token);
    expect(isOfSchemeBearer(header)).toBe(isBearer);
  });
});

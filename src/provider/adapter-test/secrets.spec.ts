import { CODE, isIn, REDIRECT_URI, SECRET, STATE } from './secrets.js';

describe('a secret in a text', () => {
  it.each([
    ['as it is', 'a: the secret of the contract test!'],
    ['in an address', 'https://id.example/?s=the%20secret%20of%20the%20contract%20test&a'],
    ['in a form', 'a=1&s=the+secret+of+the+contract+test'],
    ['in a form, with no name before it', 'the+secret+of+the+contract+test'],
  ])('is found %s', (_name, text) => expect(isIn(SECRET, text)).toBe(true));

  it.each([
    ['nothing', ''],
    ['a part of it', 'the secret of the contract'],
    ['another', 'the secret of another test'],
  ])('is not found in %s', (_name, text) => expect(isIn(SECRET, text)).toBe(false));
});

describe('the values of a check', () => {
  it('are like those of the service: the state is 64 hex digits (contract §4)', () => {
    expect(STATE).toMatch(/^[0-9a-f]{64}$/);
  });

  it('are changed by whoever forgets to encode them, or encodes them twice', () => {
    const { origin, search } = new URL(REDIRECT_URI);
    expect([origin, search]).toEqual(['https://app.example', '?from=test']);
    expect(encodeURIComponent(SECRET)).not.toBe(SECRET);
    expect(encodeURIComponent(CODE)).toBe(CODE); // an address shows it as it is
    expect(CODE).toMatch(/\W/);
  });
});

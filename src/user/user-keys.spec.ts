import { userIdOf, searchKey } from './user-keys.js';

describe('userIdOf', () => {
  it('is a UUID of version 8 that never changes: stored data depends on it', () => {
    expect(userIdOf('mock', 'ada')).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    expect(userIdOf('mock', 'ada')).toBe('155bc610-55f9-8159-ad33-a388bffd92dc');
  });

  it('differs for any other provider or id, byte for byte', () => {
    const pairs = [
      ['mock', 'ada'],
      ['mock', 'Ada'],
      ['mock', 'ada '],
      ['moc', 'kada'],
      ['mocka', 'da'],
      ['mock', 'a\u0301'],
      ['mock', '\u00e1'],
    ];
    expect(new Set(pairs.map(([provider, id]) => userIdOf(provider!, id!))).size).toBe(pairs.length);
  });
});

describe('the key of a search', () => {
  it.each([
    ['Ada@Example.org', 'ada@example.ORG'],
    ['İstanbul', 'istanbul'],
    ['Işık', 'IŞIK'],
    ['ışık', 'işik'.replace('k', 'K')],
    ['Straße', 'STRASSE'],
    ['Οδυσσεύς', 'ΟΔΥΣΣΕΎΣ'],
    ['Jose\u0301', 'JOSÉ'],
    ['Ａｄａ', 'ada'],
    ['ﾀﾅｶ', 'タナカ'],
  ])('%s and %s are alike', (a, b) => expect(searchKey(a)).toBe(searchKey(b)));

  it.each([
    ['e', 'é'],
    ['は', 'ば'],
    ['hakan', 'hakân'],
  ])('%s and %s differ', (a, b) => expect(searchKey(a)).not.toBe(searchKey(b)));

  it.each([
    ['ΟΔΥΣ', 'Οδυσσεύς'],
    ['stras', 'Straße'],
    ['田中', '田中 花子'],
    ['i', 'İstanbul'],
  ])('%s begins %s', (prefix, name) => expect(searchKey(name).startsWith(searchKey(prefix))).toBe(true));

  it('is short and well-formed, however the text grows', () => {
    for (const letter of ['ß', 'ﷺ', '𝒶', '👩‍🚀', 'İ', '\u0307']) {
      for (const length of [1, 127, 255]) {
        const key = searchKey('x' + letter.repeat(length));
        expect([key.length <= 255, key.isWellFormed()]).toEqual([true, true]);
      }
    }
  });
});

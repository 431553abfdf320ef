import { searchKey } from './search-key.js';

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

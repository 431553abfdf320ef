import { searchedWords, searchKey, wordKeys } from './user-words.js';

describe('words of users', () => {
  it.each<[name: string | null, email: string | null, keys: string[]]>([
    ['Maria  Fernanda Lopez', null, ['MARIA FERNANDA LOPEZ', 'FERNANDA LOPEZ MARIA', 'LOPEZ MARIA FERNANDA']],
    ['Ada Lovelace', 'ada.lovelace@example.com', ['ADA LOVELACE', 'LOVELACE ADA']],
    ['Ada', 'countess+news@example.com', ['ADA COUNTESS NEWS', 'COUNTESS NEWS ADA', 'NEWS ADA COUNTESS']],
    ['Ada', 'ada92@example.com', ['ADA92']],
    ["Seán O'Brien", null, ['SEAN OBRIEN BRIEN', 'OBRIEN BRIEN SEAN', 'BRIEN SEAN OBRIEN']],
    ['Jean-Luc', null, ['JEAN LUC', 'LUC JEAN']],
    ['İsmail Işık', null, ['ISMAIL ISIK', 'ISIK ISMAIL']],
    ['José Čapek', null, ['JOSE CAPEK', 'CAPEK JOSE']],
    ['Йордан', null, ['ИОРДАН']],
    ['हिंदी', null, ['हिंदी']],
    ['田中 花子', null, ['田中 花子', '花子 田中']],
    ['Anna anna', null, ['ANNA']],
    ['☆ ☆☆', null, ['☆☆']],
    [' ', null, []],
    [null, '@example.com', []],
    [null, 'no address', ['NO ADDRESS', 'ADDRESS NO']],
    [null, null, []],
  ])('%j, %j', (name, email, keys) => {
    expect(wordKeys(name, email)).toEqual(keys);
  });

  it('are few, and of a length that an index can have', () => {
    const name = Array.from({ length: 128 }, (_, i) => String.fromCodePoint(0x4e00 + i)).join(' ');
    const keys = wordKeys(name.slice(0, 255), 'x'.repeat(255));
    expect(keys).toHaveLength(12);
    expect(wordKeys('𝔸'.repeat(255).normalize('NFC'), null)[0]!.length).toBeLessThanOrEqual(255);
    for (const key of wordKeys('😀'.repeat(255), null)) expect(key.isWellFormed()).toBe(true);
  });

  it.each([
    ['maria lo', ['MARIA', 'LO']],
    ['lo ma maria', ['MARIA', 'LO']], // another word begins with MA
    ["o'brien", ['OBRIEN']],
    ['jean-luc', ['JEAN', 'LUC']],
    ['maria.lo@ex', ['MARIA', 'LO', 'EX']],
    ["'", []],
    ['a b c d e f g h i j', ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H']],
  ])('that are searched: %j', (text, words) => {
    expect(searchedWords(text)).toEqual(words);
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

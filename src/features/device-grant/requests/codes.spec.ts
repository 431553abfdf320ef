import { readUserCode } from './codes.js';

const wide = (text: string): string =>
  Array.from(text, (sign) => String.fromCodePoint(sign.codePointAt(0)! + 0xfee0)).join('');

describe('a user code as it is typed or pasted', () => {
  it.each([
    ['as it is shown', 'BDFH-JLNP'],
    ['small letters', 'bdfh-jlnp'],
    ['without the hyphen', 'BDFHJLNP'],
    ['a tab and line breaks', '\tBDFH\r\nJLNP\n'],
    ['blanks that are not ASCII', '\u00a0BDFH\u3000JLNP\u2009'],
    ['dashes', 'BDFH\u2013JL\u2014NP'],
    ['a minus sign and a plus sign', 'BDFH\u2212JLNP+'],
    ['an arrow and a bar', 'BDFH\u2192JLNP|'],
    ['zero-width characters', 'BD\u200bFH-\u200dJL\u2060NP\u200c'],
    ['marks of direction', '\u202bBDFH-JLNP\u202c\u2069'],
    ['a soft hyphen', 'BDFH\u00adJLNP'],
    ['a byte order mark', '\ufeffBDFH-JLNP'],
    ['fillers and variation selectors', 'BDFH\u3164JL\ufe0fNP\u034f'],
    ['full width', `${wide('BDFH')}\uff0d${wide('jlnp')}`],
    ['quotation marks and a full stop', '\u201eBDFH-JLNP\u201c.'],
  ])('%s', (_what, text) => {
    expect(readUserCode(text)).toBe('BDFHJLNP');
  });

  it.each([
    ['too few letters', 'BDFH-JLN'],
    ['too many letters', 'BDFH-JLNPQ'],
    ['a digit', 'BDFH-JLN8'],
    ['a digit beside it', 'BDFH-JLNP1'],
    ['a letter that looks like one', '\u0412DFH-JLNP'],
    ['a letter with an accent', 'BDFH-JL\u0143P'],
    ['a long text', `BDFH-JLNP${' '.repeat(60)}`],
    ['nothing', ''],
  ])('not %s', (_what, text) => {
    expect(readUserCode(text)).toBeUndefined();
  });
});

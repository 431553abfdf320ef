import { readFileSync, statSync } from 'node:fs';
import { InvalidValue, parser, type Parser } from './parsers.js';

/** Bytes. */
const LARGEST = 64 * 1024;
const PNG = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
/** Behind a byte order mark, an XML declaration, comments and white space. */
const SVG = /^\ufeff?\s*(?:<\?xml [^>]*\?>\s*)?(?:<!--(?:(?!-->)[^])*-->\s*)*<svg[\s>]/;

export interface Logo {
  readonly type: 'image/svg+xml' | 'image/png';
  readonly content: Buffer;
}

/**
 * What an SVG must not have, by the words of the error. The logo is shown by `<img>` only; these rules are
 * for a person who opens its address. They read the text, so they also refuse what a comment has.
 */
const REFUSED: readonly (readonly [string, RegExp])[] = [
  ['a DOCTYPE', /<!\s*(?:doctype|entity)/i],
  ['a script', /<\s*(?:[\w.-]+:)?script|\son\w+\s*=|javascript:/i],
  ['foreignObject', /<\s*(?:[\w.-]+:)?foreignObject|www\.w3\.org\/1999\/xhtml/i],
  ['a CDATA section', /<!\[CDATA\[/],
  ['a stylesheet of another file', /<\?xml-stylesheet|@import/i],
  ['a reference that does not begin with #', /(?:href|src)\s*=(?!\s*(?:"\s*#|'\s*#))/i],
  ['a reference that does not begin with #', /url\s*\((?!\s*["']?\s*#)|(?:image|image-set|src)\s*\(/i],
  ['a reference that does not begin with #', /\bxml:base|attributeName\s*=\s*["']\s*(?:[\w.-]+:)?href/i],
  ['a backslash, which hides text in styles', /\\/],
  ['another encoding than UTF-8', /^[^<]*<\?xml [^>]*encoding\s*=\s*["'](?!utf-8["'])/i],
];

export const brandName: Parser<string> = parser('text on one line, at most 80 characters', (text) =>
  /^(?=.*\S)\P{C}{1,80}$/u.test(text) ? text : undefined,
);

export const brandColor: Parser<string> = parser('a colour as #rrggbb', (text) =>
  /^#[\da-f]{6}$/i.test(text) ? text.toLowerCase() : undefined,
);

export const brandLogo: Parser<Logo> = {
  accepts: 'the path of an SVG or PNG file of at most 64 KiB',
  parse(path) {
    const content = readLogo(path);
    if (content.subarray(0, PNG.length).equals(PNG)) return { type: 'image/png', content };
    const problem = problemOf(content);
    if (problem !== undefined) throw new InvalidValue(path, problem);
    return { type: 'image/svg+xml', content };
  },
};

function readLogo(path: string): Buffer {
  try {
    const { size } = statSync(path);
    if (size <= LARGEST) return readFileSync(path);
  } catch (error) {
    throw new InvalidValue(path, `cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  throw new InvalidValue(path, 'is larger than 64 KiB');
}

function problemOf(content: Buffer): string | undefined {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch {
    return 'is neither an SVG nor a PNG';
  }
  if (!SVG.test(text)) return 'is neither an SVG nor a PNG';
  const decoded = decodeReferences(text);
  const found = REFUSED.find(([, pattern]) => pattern.test(text) || pattern.test(decoded));
  return found && `is an SVG with ${found[0]}`;
}

/** Numeric references of characters, which may spell what is refused. */
function decodeReferences(text: string): string {
  return text.replace(/&#(?:x([\da-f]+)|(\d+));/gi, (all, hex: string, decimal: string) => {
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code <= 0x10_ffff ? String.fromCodePoint(code) : all;
  });
}

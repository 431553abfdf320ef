import type { Random } from './random.js';

/** Characters that mean something to some parser, or look as if they were others. */
const CHARACTERS = Array.from(
  '\0\t\n\r "\'\\/?#@:%[]{}()<>.,;=&+-_|^~`!$*0aAzZ\u007f\u0080\u00a0\u00ad\u00e9\u0131\u017f\u0430\u200b\u200d\u2028\u202e',
).concat(
  '\u2100',
  '\u3002',
  '\uff0e',
  '\uff0f',
  '\uff20',
  '\ufeff',
  '\ufffd',
  '\ud800',
  '\udc00',
  '\u{1f600}',
);
const NUMBERS = [
  '0',
  '-0',
  '-1',
  '1',
  '00',
  '1.5',
  '1e3',
  '1e400',
  '-1e400',
  '0x10',
  '1_000',
  '+1',
  ' 1',
  '1 ',
  '255',
  '256',
  '65535',
  '65536',
  '2147483647',
  '2147483648',
  '4294967296',
  '9007199254740991',
  '9007199254740992',
  '9223372036854775807',
  '9223372036854775808',
  '18446744073709551616',
  '9'.repeat(400),
];

type Change = (random: Random, text: string, words: readonly string[]) => string;

const CHANGES: readonly Change[] = [
  // A piece is cut out, said twice or often, put elsewhere, turned round.
  (random, text) => spliced(random, text, () => ''),
  (random, text) => spliced(random, text, (piece) => piece + piece),
  (random, text) => spliced(random, text, (piece) => piece.slice(0, 8).repeat(random.below(40))),
  (random, text) => spliced(random, text, (piece) => piece.split('').toReversed().join('')),
  (random, text) => {
    const at = random.below(text.length + 1);
    return text.slice(at) + text.slice(0, at);
  },
  (random, text) => text.slice(0, random.below(text.length + 1)),
  // A character is another one, there is one more, or it is written in another way.
  (random, text) => spliced(random, text, () => random.pick(CHARACTERS), 1),
  (random, text) => spliced(random, text, () => random.pick(CHARACTERS), 0),
  (random, text) => spliced(random, text, () => random.pick(CHARACTERS), 0),
  (random, text) => spliced(random, text, percentEncoded, 1 + random.below(3)),
  (random, text) => spliced(random, text, escaped, 1),
  (random, text) => spliced(random, text, swappedCase),
  (random, text) => spliced(random, text, (piece) => piece.normalize(random.pick(['NFC', 'NFD', 'NFKC']))),
  (random, text) => spliced(random, text, wide, 1 + random.below(3)),
  // A number is another one; a word of the grammar is put in, or another one takes its place.
  (random, text) => {
    const nth = random.below(text.match(/-?\d+/g)?.length ?? 1);
    let at = 0;
    return text.replace(/-?\d+/g, (number) => (at++ === nth ? random.pick(NUMBERS) : number));
  },
  (random, text, words) => spliced(random, text, () => random.pick(words), 0),
  (random, text, words) => spliced(random, text, () => random.pick(words)),
  (random, text, words) => {
    const [one, other] = [random.pick(words), random.pick(words)];
    return one === '' ? text : text.replace(one, () => other);
  },
];

/** A text with one to four changes. @param words of its grammar, to be put in */
export function mutatedText(random: Random, text: string, words: readonly string[] = ['']): string {
  let changed = text;
  const changes = 1 + Math.floor(4 * random.next() ** 3);
  for (let i = 0; i < changes; i++) changed = random.pick(CHANGES)(random, changed, words);
  return changed;
}

/** Bytes with one to four changes, whatever they mean. */
export function mutatedBytes(random: Random, bytes: Buffer): Buffer {
  let changed = Buffer.from(bytes);
  const changes = 1 + Math.floor(4 * random.next() ** 3);
  for (let i = 0; i < changes; i++) {
    const at = random.below(changed.length + 1);
    const size = random.below(Math.min(16, changed.length - at) + 1);
    const [head, piece, tail] = [
      changed.subarray(0, at),
      changed.subarray(at, at + size),
      changed.subarray(at + size),
    ];
    const kind = random.below(5);
    if (kind === 0 && changed.length > 0) changed[random.below(changed.length)]! ^= 1 << random.below(8);
    else if (kind === 1) changed = Buffer.concat([head, tail]);
    else if (kind === 2) changed = Buffer.concat([head, piece, piece, tail]);
    else if (kind === 3)
      changed = Buffer.concat([head, Buffer.from([random.pick(BYTES)]), changed.subarray(at)]);
    else changed = Buffer.concat([head, Buffer.from([random.pick(BYTES)]), changed.subarray(at + 1)]);
  }
  return changed;
}

const BYTES = [
  0, 1, 0x09, 0x0a, 0x0d, 0x20, 0x22, 0x5c, 0x7f, 0x80, 0xbf, 0xc0, 0xc3, 0xe2, 0xed, 0xf0, 0xf8, 0xfe, 0xff,
];

function spliced(random: Random, text: string, made: (piece: string) => string, length?: number): string {
  const at = random.below(text.length + 1);
  const end = at + (length ?? random.below(Math.min(24, text.length - at) + 1));
  return text.slice(0, at) + made(text.slice(at, end)) + text.slice(end);
}

function percentEncoded(piece: string): string {
  return [...Buffer.from(piece)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}

function escaped(piece: string): string {
  return piece === '' ? '' : `\\u${piece.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function swappedCase(piece: string): string {
  const upper = piece.toUpperCase();
  return piece === upper ? piece.toLowerCase() : upper;
}

/** ASCII as its full-width forms, which hosts and compatibility forms take for the same. */
function wide(piece: string): string {
  return piece.replace(/[!-~]/g, (char) => String.fromCharCode(char.charCodeAt(0) + 0xfee0));
}

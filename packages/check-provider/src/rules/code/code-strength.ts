import { fail, pass, skip, type Rule } from '../../rule.js';

const LEAST_BITS = 128; // RFC 6749 §10.10
const LONGEST = 16_384; // characters; the service refuses longer codes

export const codeStrength: Rule = {
  id: 'code-strength',
  clause: 'RFC 6749 §10.10',
  title: 'codes cannot be guessed',
  level: 'advice',
  run({ codes }) {
    if (codes.length === 0) return skip('there was no code');
    const weakest = Math.min(...codes.map(mostBits));
    const longest = Math.max(...codes.map((code) => code.length));
    const seen = `${longest} characters, ${weakest} bits at most`;
    if (longest > LONGEST) return fail(seen, `Latchkey takes codes of ${LONGEST} characters at most`);
    return weakest >= LEAST_BITS
      ? pass(seen)
      : fail(seen, 'make codes of 128 random bits or more, as 32 hex characters');
  },
};

/** The most bits that a code of this length and these kinds of characters can hold. */
function mostBits(code: string): number {
  const isHex = /^(?:[0-9a-f]+|[0-9A-F]+)$/.test(code.replaceAll('-', ''));
  const kinds = [/[0-9]/, /[a-z]/, /[A-Z]/, /[^0-9a-zA-Z]/];
  const sizes = [10, 26, 26, 2];
  const alphabet = kinds.reduce((sum, kind, index) => sum + (kind.test(code) ? sizes[index]! : 0), 0);
  return Math.floor(code.length * Math.log2(isHex && /[a-f]/i.test(code) ? 16 : alphabet));
}

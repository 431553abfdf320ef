import { kind } from './kinds.js';

/** `SECRET_KEY` (contract §2): hex when all characters are hex and their number is even, else base64(url). */
export const secretKey = kind('at least 32 bytes, written as hex or base64', (text) => {
  const key = isHex(text) ? Buffer.from(text, 'hex') : fromBase64(text);
  return key !== undefined && key.length >= 32 ? key : undefined;
});

function isHex(text: string): boolean {
  return text.length % 2 === 0 && /^[0-9a-f]*$/i.test(text);
}

/** Strict: Node's decoder skips what it does not know, and a slip of the hand would shorten the key. */
function fromBase64(text: string): Buffer | undefined {
  const [, digits = '', padding = ''] = /^([A-Za-z0-9+/]+|[A-Za-z0-9_-]+)(={0,2})$/.exec(text) ?? [];
  const key = Buffer.from(digits, 'base64');
  const same = key.toString('base64url') === digits.replaceAll('+', '-').replaceAll('/', '_');
  return same && (padding === '' || text.length % 4 === 0) ? key : undefined;
}

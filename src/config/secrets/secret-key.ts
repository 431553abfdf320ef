import { hkdfSync } from 'node:crypto';
import { parser } from '../settings/parsers.js';

/** A `SECRET_KEY` (contract §2). Its bytes are private, so no log shows them; each use has a derived key. */
export class SecretKey {
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Derives the key of 32 bytes for one use, e.g. `signing-keys` (HKDF-SHA256, RFC 5869). */
  derive(use: string): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#bytes, '', `latchkey ${use}`, 32));
  }
}

/** `SECRET_KEY` (contract §2): hex when all characters are hex and their number is even, else base64(url). */
export const secretKey = parser('at least 32 bytes, written as hex or base64', (text) => {
  const isHex = text.length % 2 === 0 && /^[0-9a-f]*$/i.test(text);
  const key = isHex ? Buffer.from(text, 'hex') : fromBase64(text);
  return key !== undefined && key.length >= 32 ? new SecretKey(key) : undefined;
});

/** Strict: Node's decoder skips unknown characters, so a typing error would shorten the key. */
function fromBase64(text: string): Buffer | undefined {
  const [, digits = '', padding = ''] = /^([A-Za-z0-9+/]+|[A-Za-z0-9_-]+)(={0,2})$/.exec(text) ?? [];
  const key = Buffer.from(digits, 'base64');
  const same = key.toString('base64url') === digits.replaceAll('+', '-').replaceAll('/', '_');
  return same && (padding === '' || text.length % 4 === 0) ? key : undefined;
}

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { parser } from '../settings/parsers.js';

/** A `SECRET_KEY`. Its bytes are private, so no log shows them; each use has a derived key. */
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

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts values for the database: AES-256-GCM, with a key that is derived from SECRET_KEY for one use. */
export class SecretBox {
  readonly #key: Buffer;

  constructor(secretKey: SecretKey, use: string) {
    this.#key = secretKey.derive(use);
  }

  /** @param owner is authenticated, so that rows cannot be exchanged @returns nonce, tag and ciphertext */
  encrypt(plaintext: Buffer, owner: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#key, nonce).setAAD(Buffer.from(owner));
    const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]);
  }

  /** @throws if SECRET_KEY, owner or bytes are other than at the encryption */
  decrypt(sealed: Buffer, owner: string): Buffer {
    const nonce = sealed.subarray(0, NONCE_BYTES);
    const tag = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
    const decipher = createDecipheriv(ALGORITHM, this.#key, nonce, { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(owner))
      .setAuthTag(tag);
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
  }
}

/** `SECRET_KEY`: hex if all characters are hex and their number is even, else base64(url). */
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

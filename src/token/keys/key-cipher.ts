import type { KeyObject } from 'node:crypto';
import { createCipheriv, createDecipheriv, createPrivateKey, randomBytes } from 'node:crypto';
import type { SecretKey } from '../../config/secrets/secret-key.js';
import { UnreadableKey } from './key-errors.js';
import type { StoredKey } from './key-life.js';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts a private key with AES-256-GCM.
 * @param encryptionKey 32 bytes, derived from SECRET_KEY.
 * @param kid authenticated with it, so that no row can pass for another.
 * @returns nonce, tag and ciphertext of the PKCS #8 form.
 */
export function encryptPrivateKey(privateKey: KeyObject, kid: string, encryptionKey: Buffer): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, encryptionKey, nonce).setAAD(Buffer.from(kid));
  const plaintext = privateKey.export({ format: 'der', type: 'pkcs8' });
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]);
}

/** The reverse of `encryptPrivateKey`. Throws when the key, the kid or the bytes are not the ones it was made with. */
export function decryptPrivateKey(encrypted: Buffer, kid: string, encryptionKey: Buffer): KeyObject {
  const nonce = encrypted.subarray(0, NONCE_BYTES);
  const tag = encrypted.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  const decipher = createDecipheriv(ALGORITHM, encryptionKey, nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(kid))
    .setAuthTag(tag);
  const der = Buffer.concat([decipher.update(encrypted.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
}

/** Encrypts the private parts of signing keys with a key derived from SECRET_KEY, and reads them. */
export class KeyCipher {
  private readonly encryptionKey: Buffer;

  constructor(secretKey: SecretKey) {
    this.encryptionKey = secretKey.derive('signing-keys');
  }

  encrypt(privateKey: KeyObject, kid: string): Buffer {
    return encryptPrivateKey(privateKey, kid, this.encryptionKey);
  }

  /** @throws UnreadableKey when it was encrypted with another SECRET_KEY */
  decrypt({ kid, encryptedPrivateKey }: Pick<StoredKey, 'kid' | 'encryptedPrivateKey'>): KeyObject {
    try {
      return decryptPrivateKey(encryptedPrivateKey, kid, this.encryptionKey);
    } catch {
      throw new UnreadableKey(kid);
    }
  }

  canRead(key: StoredKey): boolean {
    try {
      return this.decrypt(key) !== undefined;
    } catch {
      return false;
    }
  }
}

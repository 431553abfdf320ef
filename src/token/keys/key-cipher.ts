import type { KeyObject } from 'node:crypto';
import { createCipheriv, createDecipheriv, createPrivateKey, randomBytes } from 'node:crypto';
import type { SecretKey } from '../../config/secrets/secret-key.js';
import type { StoredKey } from './key-life.js';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Error: the private part of a signing key was encrypted with another SECRET_KEY. */
export class UnreadableKey extends Error {
  override readonly name = 'UnreadableKey';

  constructor(readonly kid: string) {
    super(`Signing key ${kid} cannot be decrypted: SECRET_KEY is not the one it was stored with.`);
  }
}

/** Encrypts the private parts of signing keys (AES-256-GCM, a key derived from SECRET_KEY), and decrypts them. */
export class KeyCipher {
  private readonly encryptionKey: Buffer;

  constructor(secretKey: SecretKey) {
    this.encryptionKey = secretKey.derive('signing-keys');
  }

  /**
   * @param kid is authenticated, so that rows cannot be exchanged
   * @returns nonce, tag and ciphertext of the PKCS #8 form
   */
  encrypt(privateKey: KeyObject, kid: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.encryptionKey, nonce).setAAD(Buffer.from(kid));
    const plaintext = privateKey.export({ format: 'der', type: 'pkcs8' });
    const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]);
  }

  /** @throws UnreadableKey if SECRET_KEY, kid or bytes differ from those of the encryption */
  decrypt({ kid, encryptedPrivateKey }: Pick<StoredKey, 'kid' | 'encryptedPrivateKey'>): KeyObject {
    try {
      const nonce = encryptedPrivateKey.subarray(0, NONCE_BYTES);
      const tag = encryptedPrivateKey.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
      const decipher = createDecipheriv(ALGORITHM, this.encryptionKey, nonce, { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(kid))
        .setAuthTag(tag);
      const ciphertext = encryptedPrivateKey.subarray(NONCE_BYTES + TAG_BYTES);
      const key = Buffer.concat([decipher.update(ciphertext), decipher.final()]);
      return createPrivateKey({ key, format: 'der', type: 'pkcs8' });
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

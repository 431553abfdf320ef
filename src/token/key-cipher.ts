import type { KeyObject } from 'node:crypto';
import type { SecretKey } from '../config/secret-key.js';
import { decryptPrivateKey, encryptPrivateKey } from './key-encryption.js';
import { UnreadableKey } from './key-errors.js';
import type { StoredKey } from './key-life.js';

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

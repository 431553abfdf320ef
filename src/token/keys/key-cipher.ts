import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { SecretBox, type SecretKey } from '../../platform/config/secrets/secret-key.js';
import type { StoredKey } from './key-life.js';

/** Error: the private part of a signing key was encrypted with another SECRET_KEY. */
export class UnreadableKey extends Error {
  override readonly name = 'UnreadableKey';

  constructor(readonly kid: string) {
    super(`Signing key ${kid} cannot be decrypted: SECRET_KEY is not the one it was stored with.`);
  }
}

/**
 * Makes an EC key pair, by way of its encoded form. Node 20: `export()` of a generated key hangs for ever if
 * garbage collection removes its generator in this moment (both lock one mutex).
 */
export function makeKeyPair(): { readonly privateKey: KeyObject; readonly publicKey: KeyObject } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { format: 'der', type: 'pkcs8' },
    publicKeyEncoding: { format: 'der', type: 'spki' },
  });
  return {
    privateKey: createPrivateKey({ key: privateKey, format: 'der', type: 'pkcs8' }),
    publicKey: createPublicKey({ key: publicKey, format: 'der', type: 'spki' }),
  };
}

export class KeyCipher {
  private readonly box: SecretBox;

  constructor(secretKey: SecretKey) {
    this.box = new SecretBox(secretKey, 'signing-keys');
  }

  /** Encrypts the PKCS #8 form. */
  encrypt(privateKey: KeyObject, kid: string): Buffer {
    return this.box.encrypt(privateKey.export({ format: 'der', type: 'pkcs8' }), kid);
  }

  /** @throws UnreadableKey if SECRET_KEY, kid or bytes are other than at the encryption */
  decrypt({ kid, encryptedPrivateKey }: Pick<StoredKey, 'kid' | 'encryptedPrivateKey'>): KeyObject {
    try {
      const key = this.box.decrypt(encryptedPrivateKey, kid);
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

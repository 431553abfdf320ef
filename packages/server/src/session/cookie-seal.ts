import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { ProofKey } from './proof-key.js';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;

interface Keys {
  readonly encryption: Buffer;
  readonly proofs: ProofKey;
}

/** Content of a cookie. */
export interface Opened {
  readonly text: string;
  /** The key that belongs to the secret of this cookie. */
  readonly proofs: ProofKey;
}

/** Encrypts and authenticates cookies (AES-256-GCM): base64url of nonce, ciphertext and tag. */
export class CookieSeal {
  /** Newest first. */
  private readonly keys: readonly [Keys, ...Keys[]];

  /** @param secrets at least one; the first encrypts, all decrypt */
  constructor(secrets: readonly string[]) {
    this.keys = secrets.map((secret) => ({
      encryption: Buffer.from(hkdfSync('sha256', secret, '', 'latchkey session: cookies', KEY_BYTES)),
      proofs: new ProofKey(secret),
    })) as [Keys, ...Keys[]];
  }

  /** The key for new sessions. */
  get proofs(): ProofKey {
    return this.keys[0].proofs;
  }

  /** @param name of the cookie; the content is valid under this name only */
  seal(name: string, text: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, this.keys[0].encryption, iv).setAAD(Buffer.from(name));
    const content = [iv, cipher.update(text), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(content).toString('base64url');
  }

  /** @returns undefined for anything that `seal` did not make with one of the secrets, under this name */
  open(name: string, value: string): Opened | undefined {
    const bytes = Buffer.from(value, 'base64url');
    if (bytes.length < IV_BYTES + TAG_BYTES) return undefined;
    for (const { encryption, proofs } of this.keys) {
      const text = decrypt(encryption, name, bytes);
      if (text !== undefined) return { text, proofs };
    }
    return undefined;
  }
}

function decrypt(key: Buffer, name: string, bytes: Buffer): string | undefined {
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(name)).setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString();
  } catch {
    return undefined;
  }
}

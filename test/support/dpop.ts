import { createHash, randomUUID, sign, type KeyObject } from 'node:crypto';
import { makeKeyPair } from '../../src/token/keys/key-cipher.js';

export interface ProofParts {
  /** Members that replace or extend the header; undefined removes one. */
  readonly header?: Readonly<Record<string, unknown>>;
  /** Members that replace or extend the claims; undefined removes one. */
  readonly claims?: Readonly<Record<string, unknown>>;
}

/** A client's key, and the proofs that it makes (RFC 9449 §4.2). */
export class ClientKey {
  private readonly privateKey: KeyObject;
  /** The public part: `kty`, `crv`, `x`, `y`. */
  readonly jwk: Readonly<Record<string, string>>;

  constructor({ publicKey, privateKey } = makeKeyPair()) {
    this.privateKey = privateKey;
    this.jwk = publicKey.export({ format: 'jwk' }) as Record<string, string>;
  }

  /** RFC 7638. */
  get thumbprint(): Buffer {
    const { crv, kty, x, y } = this.jwk;
    return createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest();
  }

  /** A proof for one POST to `htu`, made now. */
  proof(htu: string, { header, claims }: ProofParts = {}): string {
    return this.signed(
      encode({ typ: 'dpop+jwt', alg: 'ES256', jwk: this.jwk, ...header }),
      encode({ jti: randomUUID(), htm: 'POST', htu, iat: Math.floor(Date.now() / 1000), ...claims }),
    );
  }

  /** Signs two parts in base64url. */
  signed(header: string, claims: string): string {
    return `${header}.${claims}.${this.sign(`${header}.${claims}`).toString('base64url')}`;
  }

  /** An ES256 signature (RFC 7518 §3.4). */
  sign(text: string): Buffer {
    return sign('sha256', Buffer.from(text), { key: this.privateKey, dsaEncoding: 'ieee-p1363' });
  }
}

/** JSON in base64url; text stays as it is. */
export function encode(part: unknown): string {
  return Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url');
}

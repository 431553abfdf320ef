import {
  createPrivateKey,
  createPublicKey,
  randomUUID,
  sign,
  type JsonWebKey,
  type KeyObject,
} from 'node:crypto';
import { ISSUER } from './issuer.js';

/** A session that is bound to a key, as it is handed to another process. */
export interface BoundSession {
  readonly refreshToken: string;
  /** With its private part. */
  readonly key: JsonWebKey;
}

const HTU = `${ISSUER}/oauth2/refresh`;

export class Prover {
  private readonly privateKey: KeyObject;
  private readonly header: string;

  constructor(key: JsonWebKey) {
    this.privateKey = createPrivateKey({ key, format: 'jwk' });
    const jwk = createPublicKey({ key, format: 'jwk' }).export({ format: 'jwk' });
    this.header = base64url({ typ: 'dpop+jwt', alg: 'ES256', jwk });
  }

  /** A proof for one refresh within the next minute. */
  proof(): string {
    const iat = Math.floor(Date.now() / 1000);
    const signed = `${this.header}.${base64url({ jti: randomUUID(), htm: 'POST', htu: HTU, iat })}`;
    const key = { key: this.privateKey, dsaEncoding: 'ieee-p1363' } as const;
    return `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`;
  }
}

function base64url(json: object): string {
  return Buffer.from(JSON.stringify(json)).toString('base64url');
}

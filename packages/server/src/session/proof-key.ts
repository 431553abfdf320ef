import { createECDH, createPrivateKey, hkdfSync, randomUUID, type KeyObject } from 'node:crypto';
import { SignJWT, type JWK } from 'jose';

/** Order of the curve P-256. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
/** 128 bits more than the order, so that no key is likelier than another (FIPS 186-5 A.2.1). */
const SEED_BYTES = 48;

/**
 * The key to which sessions are bound (RFC 9449), derived from a cookie secret: each process of the application has it, also after a
 * restart, and it is stored nowhere.
 */
export class ProofKey {
  private readonly privateKey: KeyObject;
  private readonly publicKey: JWK;

  constructor(secret: string) {
    const seed = Buffer.from(hkdfSync('sha256', secret, '', 'latchkey session: proof key', SEED_BYTES));
    const number = (BigInt(`0x${seed.toString('hex')}`) % (ORDER - 1n)) + 1n;
    const d = Buffer.from(number.toString(16).padStart(64, '0'), 'hex');
    const pair = createECDH('prime256v1');
    pair.setPrivateKey(d);
    const point = pair.getPublicKey(); // 0x04, x, y
    const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'));
    this.publicKey = { kty: 'EC', crv: 'P-256', x: x!, y: y! };
    const jwk = { ...this.publicKey, d: d.toString('base64url') };
    this.privateKey = createPrivateKey({ format: 'jwk', key: jwk });
  }

  /** Makes the proof for one POST. @param htu address of the call @param now milliseconds of the service's clock */
  proof(htu: string, now: number): Promise<string> {
    return new SignJWT({ htm: 'POST', htu })
      .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk: this.publicKey })
      .setJti(randomUUID())
      .setIssuedAt(Math.floor(now / 1000))
      .sign(this.privateKey);
  }
}

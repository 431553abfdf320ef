import { createHash, verify, type JsonWebKey } from 'node:crypto';
import { ISSUER } from '../names.js';
import { uuidAt } from './session.js';

const HTU = `${ISSUER}/oauth2/refresh`;

interface Proof {
  readonly jkt: Buffer;
  readonly jti: string;
}

/**
 * Validates a proof as it is written down in an afternoon: what RFC 9449 §4.3 asks for, and nothing against strange spellings.
 * @throws Error when it is not good
 */
export function verifyProof(proof: string): Proof {
  const [head, body, tail] = proof.split('.');
  const { typ, alg, jwk }: { typ: string; alg: string; jwk: JsonWebKey } = JSON.parse(decode(head!));
  const claims: { htm: string; htu: string; iat: number; jti: string } = JSON.parse(decode(body!));
  const { htm, htu, iat, jti } = claims;
  if (typ !== 'dpop+jwt' || alg !== 'ES256' || jwk.kty !== 'EC' || jwk.crv !== 'P-256')
    throw new Error('kind');
  if (htm !== 'POST' || htu !== HTU || Math.abs(iat - Date.now() / 1000) > 60)
    throw new Error('call or time');
  const key = { key: jwk, format: 'jwk', dsaEncoding: 'ieee-p1363' } as const;
  if (!verify('sha256', Buffer.from(`${head}.${body}`), key, Buffer.from(tail!, 'base64url'))) {
    throw new Error('signature');
  }
  const { crv, kty, x, y } = jwk;
  const jkt = createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest();
  return { jkt, jti: uuidAt(createHash('sha256').update(jkt).update(jti).digest('hex'), 0) };
}

function decode(part: string): string {
  return Buffer.from(part, 'base64url').toString();
}

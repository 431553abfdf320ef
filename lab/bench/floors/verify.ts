import { createPublicKey, verify } from 'node:crypto';
import { JWKS } from './access-token.js';

const KEY = createPublicKey({ key: JWKS.keys[0]!, format: 'jwk' });

export interface Claims {
  readonly sub: string;
  readonly sid: string;
  readonly jti: string;
  readonly iat: number;
  readonly exp: number;
}

/** The claims of a token that this process signed and that has not expired; else undefined. */
export function verifiedClaims(token: string): Claims | undefined {
  const [header = '', body = '', signature = ''] = token.split('.');
  const key = { key: KEY, dsaEncoding: 'ieee-p1363' } as const;
  const signed = Buffer.from(`${header}.${body}`);
  if (!verify('sha256', signed, key, Buffer.from(signature, 'base64url'))) return undefined;
  const claims: Claims = JSON.parse(Buffer.from(body, 'base64url').toString());
  return claims.exp * 1000 > Date.now() ? claims : undefined;
}

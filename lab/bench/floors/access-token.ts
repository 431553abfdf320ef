import { generateKeyPairSync, randomUUID, sign, type JsonWebKey } from 'node:crypto';
import { ISSUER } from '../names.js';
import type { Session } from './session.js';

const KID = randomUUID();

/** Seconds. */
export const EXPIRES_IN = 3600;

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const SIGNING = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const; // RFC 7518 §3.4
const HEADER = base64url({ alg: 'ES256', typ: 'at+jwt', kid: KID });

export const JWKS: { readonly keys: readonly JsonWebKey[] } = {
  keys: [{ ...publicKey.export({ format: 'jwk' }), kid: KID, use: 'sig', alg: 'ES256' }],
};

export interface AccessToken {
  readonly token: string;
  readonly jti: string;
  /** Seconds since the epoch. */
  readonly expiresAt: number;
}

export function issueAccessToken(
  { userId, sessionId, deviceId }: Session,
  jti: string = randomUUID(),
): AccessToken {
  const iat = Math.floor(Date.now() / 1000);
  const exp = iat + EXPIRES_IN;
  const claims = {
    iss: ISSUER,
    aud: ISSUER,
    sub: userId,
    sid: sessionId,
    device_id: deviceId,
    client_id: 'latchkey',
    jti,
    iat,
    exp,
  };
  const signed = `${HEADER}.${base64url(claims)}`;
  const signature = sign('sha256', Buffer.from(signed), SIGNING).toString('base64url');
  return { token: `${signed}.${signature}`, jti, expiresAt: exp };
}

function base64url(json: object): string {
  return Buffer.from(JSON.stringify(json)).toString('base64url');
}

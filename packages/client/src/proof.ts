import { base64url } from './base64url.js';

/** ES256 (RFC 7518 §3.4): the one algorithm that the service takes. */
export const CURVE = { name: 'ECDSA', namedCurve: 'P-256' };
const ES256 = { name: 'ECDSA', hash: 'SHA-256' };

/**
 * A proof that whoever sends this POST has the key (RFC 9449 §4.2).
 * @param htu the address of the request, by the name that the service has for itself
 * @param now seconds since the epoch, by the service's clock
 */
export async function makeProof(
  { privateKey, publicKey }: CryptoKeyPair,
  htu: string,
  now: number,
): Promise<string> {
  const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', publicKey);
  const parts = [
    { typ: 'dpop+jwt', alg: 'ES256', jwk: { kty, crv, x, y } },
    { jti: crypto.randomUUID(), htm: 'POST', htu, iat: Math.floor(now) },
  ];
  const text = parts.map((part) => base64url(JSON.stringify(part))).join('.');
  const signature = await crypto.subtle.sign(ES256, privateKey, new TextEncoder().encode(text));
  return `${text}.${base64url(signature)}`;
}

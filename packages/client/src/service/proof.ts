/** ES256 (RFC 7518 §3.4): the only algorithm that the service accepts. */
const ES256 = { name: 'ECDSA', hash: 'SHA-256' };

/**
 * Makes a proof of possession for a request (RFC 9449 §4.2).
 * @param htm method of the request
 * @param htu address of the request, under the service's own name
 * @param now seconds since the epoch, by the service's clock
 */
export async function makeProof(
  { privateKey, publicKey }: CryptoKeyPair,
  htm: string,
  htu: string,
  now: number,
): Promise<string> {
  const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', publicKey);
  const parts = [
    { typ: 'dpop+jwt', alg: 'ES256', jwk: { kty, crv, x, y } },
    { jti: crypto.randomUUID(), htm, htu, iat: Math.floor(now) },
  ];
  const text = parts.map((part) => base64url(new TextEncoder().encode(JSON.stringify(part)))).join('.');
  const signature = await crypto.subtle.sign(ES256, privateKey, new TextEncoder().encode(text));
  return `${text}.${base64url(signature)}`;
}

/** Encodes bytes by RFC 4648 §5, without padding. */
export function base64url(bytes: ArrayBuffer | Uint8Array): string {
  return btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

import { sign, type KeyObject } from 'node:crypto';

/**
 * A JWT in compact form, signed with ES256 (RFC 7515 §3.1, RFC 7518 §3.4).
 *
 * Verifying what strangers send is left to jsonwebtoken. Signing our own claims needs none of its checks, and is the largest
 * part of a refresh: this takes two thirds of the time that jsonwebtoken takes.
 *
 * @param header encoded already (`encodePart`): it is the same for all tokens of a key
 */
export function signJwt(header: string, claims: object, privateKey: KeyObject): string {
  const input = `${header}.${encodePart(claims)}`;
  // The raw r and s of JOSE, where Node.js would write DER.
  const signature = sign('sha256', Buffer.from(input, 'latin1'), {
    key: privateKey,
    dsaEncoding: 'ieee-p1363',
  });
  return `${input}.${signature.toString('base64url')}`;
}

/** A part of a JWT as it is written: base64url of JSON. */
export function encodePart(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

/**
 * The header of an access token, or undefined when it is not exactly as ours are: `alg`, `typ`, `kid` and nothing else.
 * So no `jwk`, `jku`, `x5u` or `crit` (RFC 8725 §3.10), no other algorithm (§3.1) and no other kind of JWT (§3.11).
 */
export function readHeader(token: string): { readonly kid: string } | undefined {
  const encoded = token.slice(0, token.indexOf('.'));
  try {
    const header = JSON.parse(Buffer.from(encoded, 'base64url').toString()) as Record<string, unknown>;
    const { alg, typ, kid } = header;
    const ours =
      alg === 'ES256' && typ === 'at+jwt' && typeof kid === 'string' && Object.keys(header).length === 3;
    return ours ? { kid } : undefined;
  } catch {
    return undefined;
  }
}

import { sign, type KeyObject } from 'node:crypto';

/**
 * Signs a JWT in compact form with ES256 (RFC 7515 §3.1, RFC 7518 §3.4). Own claims need none of
 * jsonwebtoken's checks, which take almost half of its time (CONTRIBUTING.md#deviations-from-nestjs).
 * @param header encoded (`encodePart`), since all tokens of a key share it
 */
export function signJwt(header: string, claims: object, privateKey: KeyObject): string {
  const input = `${header}.${encodePart(claims)}`;
  const signature = sign('sha256', Buffer.from(input, 'latin1'), {
    key: privateKey,
    dsaEncoding: 'ieee-p1363',
  });
  return `${input}.${signature.toString('base64url')}`;
}

/** Encodes a part of a JWT: base64url of JSON. */
export function encodePart(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

/**
 * Characters of an encoded header; ours have about 130. A longer one is not parsed: it may have 16 KiB of
 * objects.
 */
const LONGEST_HEADER = 256;

/**
 * Returns the header of an access token, or undefined unless it has exactly `alg`, `typ` and `kid` as ours
 * have: no `jwk`, `jku`, `x5u` or `crit` (RFC 8725 §3.10), no other algorithm (§3.1), no other type of JWT
 * (§3.11).
 */
export function readHeader(token: string): { readonly kid: string } | undefined {
  const end = token.indexOf('.');
  if (end > LONGEST_HEADER) return undefined;
  const encoded = token.slice(0, end);
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

import { createECDH, createHash, createHmac, createPrivateKey, sign, verify } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';

export const ISSUER = 'https://id.example';
/** The virtual clock at the start of each case, in milliseconds since the epoch. */
export const START = Date.parse('2026-11-20T19:33:20Z');
export const IAT = START / 1000 - 60;

const TOKENS = new URL('../tokens.json', import.meta.url);
const stored = existsSync(TOKENS) ? Object.values(JSON.parse(readFileSync(TOKENS, 'utf8'))) : [];

const base64url = (value) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** A P-256 key made of its name, so that no private key has to be stored. */
export function keyOf(kid) {
  const curve = createECDH('prime256v1');
  curve.setPrivateKey(createHash('sha256').update(`Latchkey's test vectors, ${kid}`).digest());
  const point = curve.getPublicKey();
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((half) => half.toString('base64url'));
  const publicJwk = { kty: 'EC', crv: 'P-256', x, y, kid, alg: 'ES256', use: 'sig' };
  const jwk = { ...publicJwk, d: curve.getPrivateKey('base64url') };
  return { publicJwk, privateKey: createPrivateKey({ key: jwk, format: 'jwk' }) };
}

/** ECDSA signatures are random: the stored one of the same text is taken again, so that the files stay equal. */
function ecdsa(text, { privateKey, publicJwk }, { hash = 'sha256', dsaEncoding = 'ieee-p1363' }) {
  const key = { key: publicJwk, format: 'jwk', dsaEncoding };
  for (const { token: known } of stored) {
    const end = known.lastIndexOf('.');
    const signature = Buffer.from(known.slice(end + 1), 'base64url');
    if (known.slice(0, end) !== text || signature.length === 0) continue;
    if (verify(hash, Buffer.from(text), key, signature)) return signature.toString('base64url');
  }
  return sign(hash, Buffer.from(text), { key: privateKey, dsaEncoding }).toString('base64url');
}

/**
 * A token as the service issues it, but for the differences; what is `undefined` is left out.
 * @param key signs it; default: the one that `kid` names
 */
export function token(claims = {}, { header = {}, key, payload, ...how } = {}) {
  const ids = { sub: 'ada', sid: 'session-of-ada', client_id: 'latchkey', jti: 'token-1' };
  const times = { iat: IAT, exp: START / 1000 + 3600 };
  const head = { alg: 'ES256', kid: 'k1', typ: 'at+jwt', ...header };
  const body = payload ?? { iss: ISSUER, aud: ISSUER, ...ids, ...times, ...claims };
  const text = `${base64url(head)}.${base64url(body)}`;
  const signed = `${text}.${ecdsa(text, keyOf(key ?? head.kid), how)}`;
  return { token: signed, header: head, payload: JSON.parse(JSON.stringify(body)) };
}

/** A token with another third part. */
export function resigned({ header, payload }, change) {
  const text = `${base64url(header)}.${base64url(payload)}`;
  return { token: `${text}.${change(text)}`, header, payload };
}

/** HMAC with the public key as the secret: what a verifier does that follows the header's `alg`. */
export const hs256 = (kid) => (text) =>
  createHmac('sha256', JSON.stringify(keyOf(kid).publicJwk))
    .update(text)
    .digest('base64url');

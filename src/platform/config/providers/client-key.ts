import { createPrivateKey, hash, X509Certificate, type KeyObject } from 'node:crypto';
import { parser } from '../settings/parsers.js';

/** Private key of the client at a provider (RFC 7523), with the header of its assertions. */
interface ClientKey {
  readonly key: KeyObject;
  readonly header: { readonly alg: string; readonly [name: string]: string };
}

const CURVES: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};

export const clientKeyText = parser(
  'a private key without password, in PEM or as a JWK: RSA of at least 2048 bits, EC P-256, P-384 or P-521, or Ed25519',
  (text) => (readClientKey(text) ? text : undefined),
);

/** Reads a key in PEM, perhaps with a certificate, or as a JWK. @returns undefined for anything else */
export function readClientKey(text: string): ClientKey | undefined {
  try {
    return text.trimStart().startsWith('{')
      ? keyOfJwk(text)
      : keyOfPem(text.replaceAll(String.raw`\n`, '\n'));
  } catch {
    return undefined;
  }
}

function keyOfJwk(text: string): ClientKey | undefined {
  const jwk = JSON.parse(text) as Record<string, unknown>;
  const key = createPrivateKey({ key: jwk, format: 'jwk' });
  const named = ['kid', 'x5t', 'x5t#S256'].map((name) => [name, jwk[name]] as const);
  const texts = Object.fromEntries(named.filter(([, value]) => typeof value === 'string'));
  const alg = algorithmOf(key, jwk['alg']);
  return alg === undefined ? undefined : { key, header: { ...(texts as Record<string, string>), alg } };
}

function keyOfPem(text: string): ClientKey | undefined {
  const key = createPrivateKey(text);
  const alg = algorithmOf(key);
  return alg === undefined ? undefined : { key, header: { ...thumbprintsIn(text), alg } };
}

/** Entra ID recognizes a key by the certificate (RFC 7515 §4.1.7, §4.1.8). */
function thumbprintsIn(pem: string): Record<string, string> {
  if (!pem.includes('-----BEGIN CERTIFICATE-----')) return {};
  const { raw } = new X509Certificate(pem.slice(pem.indexOf('-----BEGIN CERTIFICATE-----')));
  return { x5t: hash('sha1', raw, 'base64url'), 'x5t#S256': hash('sha256', raw, 'base64url') };
}

/** @param wanted `alg` of a JWK: RSA keys fit several */
function algorithmOf(key: KeyObject, wanted?: unknown): string | undefined {
  const { modulusLength = 0, namedCurve = '' } = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case 'rsa':
      if (modulusLength < 2048) return undefined;
      return typeof wanted === 'string' && /^[RP]S(?:256|384|512)$/.test(wanted) ? wanted : 'RS256';
    case 'ec':
      return CURVES[namedCurve];
    case 'ed25519':
      return 'EdDSA';
    default:
      return undefined;
  }
}

import { sign, type JsonWebKey, type KeyObject } from 'node:crypto';
import { makeKeyPair } from '../../src/token/keys/key-cipher.js';

/** With which a provider signs its tokens. */
export interface SigningKey {
  readonly privateKey: KeyObject;
  readonly jwk: JsonWebKey;
}

export function makeSigningKey(kid: string): SigningKey {
  const { privateKey } = makeKeyPair();
  return { privateKey, jwk: { ...privateKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' } };
}

type Part = Record<string, unknown>;

/** An ID token with other claims or another header, signed again, so that nothing but the change is wrong with it. */
export function reissue(idToken: string, key: SigningKey, claims: Part, header: Part = {}): string {
  const [first = '', second = ''] = idToken.split('.');
  const content = [
    { ...decode(first), ...header },
    { ...decode(second), ...claims },
  ]
    .map(encode)
    .join('.');
  const signature = sign('sha256', Buffer.from(content), { key: key.privateKey, dsaEncoding: 'ieee-p1363' });
  return `${content}.${signature.toString('base64url')}`;
}

function decode(part: string): Part {
  return JSON.parse(Buffer.from(part, 'base64url').toString()) as Part;
}

function encode(part: Part): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

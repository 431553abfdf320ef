import { generateKeyPairSync, type JsonWebKey, type KeyObject } from 'node:crypto';

/** With which a provider signs its tokens. */
export interface SigningKey {
  readonly privateKey: KeyObject;
  readonly jwk: JsonWebKey;
}

export function makeSigningKey(kid: string): SigningKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { privateKey, jwk: { ...privateKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' } };
}

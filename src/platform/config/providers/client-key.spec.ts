import { createHash, generateKeyPairSync, X509Certificate, type KeyObject } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isInstalled, needs } from '../../../../test/support/installed.js';
import { privateCa } from '../../../../test/support/private-ca.js';
import { readClientKey } from './client-key.js';

const pem = (key: KeyObject, type: 'pkcs1' | 'pkcs8' | 'sec1' = 'pkcs8'): string =>
  key.export({ type, format: 'pem' }) as string;
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const ec = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey;

it.each<[string, string, object]>([
  ['RSA in PKCS #1', pem(rsa, 'pkcs1'), { alg: 'RS256' }],
  ['EC in SEC 1', pem(ec, 'sec1'), { alg: 'ES384' }],
  ['Ed25519', pem(generateKeyPairSync('ed25519').privateKey), { alg: 'EdDSA' }],
  [
    'a JWK with its id and algorithm',
    JSON.stringify({ ...rsa.export({ format: 'jwk' }), kid: 'k', alg: 'PS256', use: 'sig', x5t: 'x' }),
    { alg: 'PS256', kid: 'k', x5t: 'x' },
  ],
])('reads %s', (_name, text, header) => expect(readClientKey(text)?.header).toEqual(header));

const withOpenssl = needs({ openssl: isInstalled('openssl') });

withOpenssl.it('adds the thumbprints of a certificate, by which Entra ID recognizes the key', () => {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-client-key-'));
  const { server } = privateCa(directory);
  const [key, certificate] = [server.key, server.certificate].map((path) => readFileSync(path, 'utf8'));
  rmSync(directory, { recursive: true });
  const sha256 = createHash('sha256').update(new X509Certificate(certificate!).raw).digest('base64url');
  for (const text of [`${key}${certificate}`, `${certificate}${key}`]) {
    expect(readClientKey(text)?.header).toMatchObject({ alg: 'ES256', 'x5t#S256': sha256 });
  }
});

it.each([
  [
    'a public key',
    generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }) as string,
  ],
  ['a key that signs nothing', pem(generateKeyPairSync('x25519').privateKey)],
  ['a short RSA key', pem(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey)],
  ['a curve that no algorithm has', pem(generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey)],
  ['a JWK without its private part', JSON.stringify({ ...ec.export({ format: 'jwk' }), d: undefined })],
  ['no key', 's3cret'],
])('rejects %s', (_name, text) => expect(readClientKey(text)).toBeUndefined());

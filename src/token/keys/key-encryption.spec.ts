import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { decryptPrivateKey, encryptPrivateKey } from './key-cipher.js';

describe('the encryption of private keys', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const secret = randomBytes(32);
  const encrypted = encryptPrivateKey(privateKey, 'kid-1', secret);

  it('gives back the same key', () => {
    expect(decryptPrivateKey(encrypted, 'kid-1', secret).equals(privateKey)).toBe(true);
  });

  it('never encrypts to the same bytes', () => {
    expect(encryptPrivateKey(privateKey, 'kid-1', secret).equals(encrypted)).toBe(false);
  });

  it.each([
    ['another secret', encrypted, 'kid-1', randomBytes(32)],
    ['another kid', encrypted, 'kid-2', secret],
    ['a flipped bit', Buffer.from(encrypted.map((byte, i) => (i === 40 ? byte ^ 1 : byte))), 'kid-1', secret],
    ['a missing byte', encrypted.subarray(0, -1), 'kid-1', secret],
    ['nothing', Buffer.alloc(0), 'kid-1', secret],
  ])('refuses %s', (_name, bytes, kid, key) => {
    expect(() => decryptPrivateKey(bytes, kid, key)).toThrow();
  });
});

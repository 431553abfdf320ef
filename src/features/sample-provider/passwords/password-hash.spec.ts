import { hashPassword, parsePasswordHash, verifyPassword } from './password-hash.js';

const SALT = 'A'.repeat(22);
const HASH = 'A'.repeat(43);

describe('password hashes', () => {
  it('match their password, in any spelling of the same characters', async () => {
    const hash = parsePasswordHash(await hashPassword('clé'))!; // one character é
    expect(await verifyPassword('cle\u0301', hash)).toBe(true); // e, and an accent
    expect(await verifyPassword('cle', hash)).toBe(false);
  });

  it('are salted', async () => {
    expect(await hashPassword('same')).not.toBe(await hashPassword('same'));
  });

  it('verify with the cost that they contain', async () => {
    // RFC 7914 §12: the first 32 bytes of the third test vector
    const vector = {
      N: 1024,
      r: 8,
      p: 16,
      salt: Buffer.from('NaCl'),
      hash: Buffer.from('fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162', 'hex'),
    };
    expect(await verifyPassword('password', vector)).toBe(true);
  });

  it.each([
    ['another function', `bcrypt$16384$8$5$${SALT}$${HASH}`],
    ['an N that is not a power of two', `scrypt$16000$8$5$${SALT}$${HASH}`],
    ['more than 256 MiB', `scrypt$524288$8$1$${SALT}$${HASH}`],
    ['p over 16', `scrypt$16384$8$17$${SALT}$${HASH}`],
    ['a short salt', `scrypt$16384$8$5$${'A'.repeat(21)}$${HASH}`],
    ['a short hash', `scrypt$16384$8$5$${SALT}$${'A'.repeat(42)}`],
    ['something after it', `scrypt$16384$8$5$${SALT}$${HASH}\n`],
  ])('are not read with %s', (_name, text) => {
    expect(parsePasswordHash(text)).toBeUndefined();
  });
});

import { createHash } from 'node:crypto';
import { atHashMatches } from './at-hash.js';

const idToken = (alg: string): string =>
  `${Buffer.from(JSON.stringify({ alg })).toString('base64url')}.e30.c2ln`;

function leftHalf(hash: string): string {
  const digest = createHash(hash).update('access').digest();
  return digest.subarray(0, digest.length / 2).toString('base64url');
}

describe('at_hash', () => {
  it.each([
    ['RS256', 'sha256'],
    ['ES384', 'sha384'],
    ['PS512', 'sha512'],
    ['Ed25519', 'sha512'],
  ])('of %s is the left half of %s', (alg, hash) => {
    expect(atHashMatches(idToken(alg), 'access', leftHalf(hash))).toBe(true);
    expect(atHashMatches(idToken(alg), 'access2', leftHalf(hash))).toBe(false);
    expect(atHashMatches(idToken(alg), 'access', undefined)).toBe(false);
  });

  it('of another algorithm is refused', () => {
    expect(atHashMatches(idToken('RS256'), 'access', leftHalf('sha512'))).toBe(false);
  });
});

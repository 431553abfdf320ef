import { createHash } from 'node:crypto';

/**
 * Whether an ID token's `at_hash` belongs to the access token it came with (OpenID Connect Core §3.1.3.6): the left
 * half of the hash that the token's own algorithm uses. openid-client leaves this to its caller.
 *
 * @param idToken a JWT whose signature has been verified
 */
export function atHashMatches(idToken: string, accessToken: string, atHash: unknown): boolean {
  const [header = ''] = idToken.split('.');
  const { alg } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { alg: string };
  const size = /256|384/.exec(alg)?.[0] ?? '512'; // Ed25519 uses SHA-512
  const hash = createHash(`sha${size}`).update(accessToken).digest();
  return hash.subarray(0, hash.length / 2).toString('base64url') === atHash;
}

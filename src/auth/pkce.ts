import { createHash } from 'node:crypto';

/** Whether a verifier is the one that an S256 challenge was made from (RFC 7636 §4.6). */
export function verifierMatches(codeVerifier: string, codeChallenge: string): boolean {
  return createHash('sha256').update(codeVerifier).digest('base64url') === codeChallenge;
}

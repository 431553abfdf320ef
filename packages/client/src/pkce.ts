import { base64url } from './base64url.js';
import { LatchkeyError } from './latchkey-error.js';

/** Binds a sign-in to the holder of the verifier (RFC 7636): 256 random bits, and their S256 challenge. */
export async function makePkce(): Promise<{ verifier: string; challenge: string }> {
  if (!globalThis.crypto?.subtle) throw new LatchkeyError('insecure_context');
  const verifier = base64url(crypto.getRandomValues(new Uint8Array(32)));
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  return { verifier, challenge: base64url(hash) };
}

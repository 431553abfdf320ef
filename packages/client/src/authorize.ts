import { base64url } from './base64url.js';
import type { Begun } from './callback.js';
import { LatchkeyError } from './latchkey-error.js';
import type { Call } from './service.js';

/** Binds a sign-in to the holder of the verifier (RFC 7636): 256 random bits, and their S256 challenge. */
async function makePkce(): Promise<{ verifier: string; challenge: string }> {
  if (!globalThis.crypto?.subtle) throw new LatchkeyError('insecure_context');
  const verifier = base64url(crypto.getRandomValues(new Uint8Array(32)));
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  return { verifier, challenge: base64url(hash) };
}

/**
 * Step 1 of spec §1: asks the service where the user signs in.
 * @param redirectUri may be relative to the page
 * @returns the address of the provider's page, and what the exchange will need
 * @throws LatchkeyError `insecure_context`, or what the service answered
 */
export async function authorize(
  call: Call,
  provider: string,
  redirectUri: string,
): Promise<{ url: string; sent: Omit<Begun, 'mode'> }> {
  const absolute = new URL(redirectUri, document.baseURI).href;
  const { verifier, challenge } = await makePkce();
  const query = new URLSearchParams({
    provider,
    redirect_uri: absolute,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  const answer = await call<{ redirect_url: string; state: string; issuer?: string }>(
    'GET',
    `/oauth2/authorize?${query.toString()}`,
  );
  const { redirect_url: url, state, issuer } = answer;
  if (!/^https?:/.test(url) || !state) throw new LatchkeyError('unexpected_answer');
  return { url, sent: { state, verifier, redirectUri: absolute, issuer, returnTo: location.href } };
}

// Binds the sign-in to this tab (RFC 7636): only who has the verifier can redeem the code.

/** @returns {Promise<{codeVerifier: string, codeChallenge: string}>} 256 random bits, and their S256 challenge */
export async function makePkce() {
  if (!globalThis.crypto?.subtle) throw new Error('Please open this page over https, or at localhost.');
  const codeVerifier = base64url(crypto.getRandomValues(new Uint8Array(32)));
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(codeVerifier));
  return { codeVerifier, codeChallenge: base64url(new Uint8Array(hash)) };
}

function base64url(bytes) {
  return btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=+$/, '');
}

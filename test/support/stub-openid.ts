import { reissue } from './oidc-id-token.js';
import { makeSigningKey } from './signing-key.js';
import type { StubProvider } from './stub-provider.js';

/**
 * Makes a stub work with every adapter: discovery, keys, token and userinfo endpoints, and the exchange of the contract.
 * Its issuer is the address by which it is called. Every code is valid, and belongs to the user `ada`; ID tokens need the
 * nonce that was sent with the authorization request.
 *
 * @param key with which it signs
 * @returns nonces, by code, to be filled in
 */
export function speakOpenId(stub: StubProvider, key = makeSigningKey('first')): Map<string, string> {
  const nonces = new Map<string, string>();
  stub.answer = ({ path, body }, response, { headers }) => {
    const code = new URLSearchParams(body).get('code') ?? '';
    response
      .writeHead(200, { 'Content-Type': 'application/json' })
      .end(JSON.stringify(said(path, `http://${headers.host}`, nonces.get(code))));
  };

  function said(path: string, issuer: string, nonce?: string): object {
    switch (path) {
      case '/.well-known/openid-configuration':
        return {
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          userinfo_endpoint: `${issuer}/me`,
          jwks_uri: `${issuer}/jwks`,
          id_token_signing_alg_values_supported: ['ES256'],
          authorization_response_iss_parameter_supported: true,
        };
      case '/jwks':
        return { keys: [{ ...key.jwk, d: undefined }] };
      case '/me':
        return { sub: 'ada' };
      case '/token': {
        const now = Math.floor(Date.now() / 1000);
        const claims = { iss: issuer, aud: 'latchkey', sub: 'ada', iat: now, exp: now + 60, nonce };
        const idToken = reissue('e30.e30.', key, claims, { alg: 'ES256', kid: 'first' });
        return { access_token: 'an access token', token_type: 'Bearer', id_token: idToken };
      }
      default:
        return { provider_user_id: 'ada' };
    }
  }
  return nonces;
}

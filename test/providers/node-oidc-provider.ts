import { once } from 'node:events';
import { createServer } from 'node:http';
import { Provider, type ClientMetadata, type Configuration } from 'oidc-provider';
import { freePort } from '../support/free-port.js';
import { makeSigningKey } from '../support/signing-key.js';
import {
  CLIENT_KEY,
  EMAIL,
  PASSWORD,
  publicKeyOf,
  SECRET,
  visit,
  type Addresses,
  type Features,
  type Product,
} from './product.js';

export const NODE_OIDC_PROVIDER_FEATURES: Features = {
  privateKeyJwt: true,
  par: true,
  claims: true,
  iss: true,
  logout: 'form',
};

/** Path of the client's public key. */
const CLIENT_KEYS = '/client-keys';

export interface NodeOidcProvider extends Product {
  /** Revokes the newest refresh token. */
  revoke(): Promise<void>;
}

/** Starts node-oidc-provider with its own pages and its own memory. */
export async function startNodeOidcProvider(at: Addresses): Promise<NodeOidcProvider> {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const client = (provider: string, more: Partial<ClientMetadata>): ClientMetadata => ({
    client_id: `latchkey-${provider}`,
    redirect_uris: [at.callback(provider)],
    post_logout_redirect_uris: [at.signedOut],
    backchannel_logout_uri: at.backChannel(provider),
    backchannel_logout_session_required: true,
    id_token_signed_response_alg: 'ES256',
    grant_types: ['authorization_code', 'refresh_token'],
    ...more,
  });
  const configured = (kid: string): Provider => {
    const configuration: Configuration = {
      clients: [
        client('plain', { client_secret: SECRET }),
        client('par', { client_secret: SECRET, require_pushed_authorization_requests: true }),
        client('key', {
          jwks_uri: `${issuer}${CLIENT_KEYS}`,
          token_endpoint_auth_method: 'private_key_jwt',
        }),
      ],
      claims: { email: ['email', 'email_verified'], profile: ['groups'] },
      conformIdTokenClaims: false,
      cookies: { keys: ['of this test'] },
      features: { backchannelLogout: { enabled: true }, pushedAuthorizationRequests: { enabled: true } },
      // Its own refuses the addresses of this machine.
      fetch: (url, options) => fetch(url, { ...options, dispatcher: undefined } as object),
      jwks: { keys: [makeSigningKey(kid).jwk] },
      rotateRefreshToken: true,
      findAccount: (_context, sub) => ({
        accountId: sub,
        claims: () => ({ sub, email: EMAIL, email_verified: true, groups: ['staff'] }),
      }),
    };
    const made = new Provider(issuer, configuration);
    made.on('refresh_token.saved', (token) => (newest = token));
    return made;
  };
  let newest: { destroy(): Promise<unknown> } | undefined;
  let provider = configured('first');
  const server = createServer((request, response) => {
    if (request.url === CLIENT_KEYS) response.end(JSON.stringify({ keys: [publicKeyOf(CLIENT_KEY)] }));
    else void provider.callback()(request, response);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const answers = { login: 'ada', password: PASSWORD };
  return {
    issuer,
    clients: {
      plain: { client_id: 'latchkey-plain', client_secret: SECRET },
      par: { client_id: 'latchkey-par', client_secret: SECRET, par: 'on' },
      key: { client_id: 'latchkey-key', client_key: CLIENT_KEY },
    },
    authorize: (person, page) => visit(person, page, at.callback(''), answers),
    async signOut(person) {
      await visit(person, `${issuer}/session/end`, `${issuer}/session/end/success`, { logout: 'yes' });
    },
    async rotateKeys() {
      provider = configured('second'); // sessions stay: its memory is shared by all of the process
    },
    async revoke() {
      await newest!.destroy();
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

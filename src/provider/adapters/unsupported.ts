import { askedOf, type Asked } from '../transport/provider-answer.js';

/**
 * What real OpenID providers do that Latchkey does not support (contract §6): what is found, and what to change. The table in
 * docs/providers.md ("Not supported") says where that is in the usual products; test/provider/unsupported.spec.ts compares the two.
 */
export const UNSUPPORTED = {
  issuer: {
    found: 'its discovery document names another issuer',
    change: 'its public address; or here, the url of the provider, to the issuer that it names',
  },
  addresses: {
    found: 'its discovery document lacks a usable address',
    change: 'its public address, so that all its addresses are https where the issuer is',
  },
  codeFlow: {
    found: 'it does not offer the authorization code flow',
    change: 'response type code (grant type authorization_code): on',
  },
  publicClients: {
    found: 'it takes public clients only',
    change: 'client authentication: on, with a client secret',
  },
  clientKeys: {
    found: 'it takes no client secret at its token endpoint',
    change: 'client authentication to client_secret_basic or client_secret_post, not by key or certificate',
  },
  pushedRequests: {
    found: 'it demands pushed authorization requests',
    change: 'pushed authorization requests (PAR): not required',
  },
  requestObjects: {
    found: 'it demands signed request objects',
    change: 'request objects (JAR): not required',
  },
  pkceMethod: {
    found: 'it lists methods of PKCE without S256',
    change: 'PKCE code challenge method: S256; or here, pkce of the provider to off',
  },
  idTokenSignature: {
    found: 'it signs ID tokens in a way that cannot be verified with a public key of its jwks_uri',
    change: 'ID token signature algorithm: RS256 or ES256',
  },
  idTokenEncryption: {
    found: 'it encrypts ID tokens',
    change: 'ID token encryption: off',
  },
  userinfoSignature: {
    found: 'it signs userinfo in a way that cannot be verified with a public key of its jwks_uri',
    change: 'userinfo signature algorithm: none, RS256 or ES256',
  },
  userinfoEncryption: {
    found: 'it encrypts userinfo',
    change: 'userinfo encryption: off',
  },
} as const;

/** One thing that was found. */
export class Unsupported extends Error {
  override readonly name = 'Unsupported';

  /** @param detail what was seen; nothing secret, and nothing long */
  constructor(
    readonly kind: keyof typeof UNSUPPORTED,
    detail: string,
  ) {
    const { found, change } = UNSUPPORTED[kind];
    super(`${found} (${detail}), which is not supported; change at the provider: ${change}`);
  }
}

/** A provider with which nobody can sign in until somebody changes its settings: all that was found about it. */
export class UnsupportedProvider extends AggregateError {
  override readonly name = 'UnsupportedProvider';
  readonly asked: Asked | undefined;

  constructor(provider: string, errors: readonly Unsupported[]) {
    super(errors, `provider ${provider} cannot be used: ${errors.map(({ message }) => message).join(' — ')}`);
    this.asked = errors.map(askedOf).find((asked) => asked !== undefined);
  }
}

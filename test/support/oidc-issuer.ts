import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider, type ClientMetadata, type Configuration } from 'oidc-provider';
import { OidcMemory } from './oidc-memory.js';
import { makeSigningKey } from './signing-key.js';

/** What the accounts of the provider say about themselves; every login exists. */
const claimsOf = (login: string) => ({
  sub: login,
  preferred_username: login,
  email: `${login}@idp.example`,
  picture: `https://img.idp.example/${login}`,
  'https://idp.example/employee': { number: 4711 },
});

/** A real OpenID provider on loopback, whose public address is that of the proxy in front of it. */
export class OidcIssuer {
  key = makeSigningKey('first');
  /** Whether ID tokens have all claims, or only `sub`, so that the rest is at the userinfo endpoint. */
  claimsInIdToken = true;
  /** What differs from the usual metadata of its client. */
  client: Partial<ClientMetadata> = {};
  /** What differs from its usual features. */
  features: Configuration['features'] = {};
  /** Algorithms that it offers besides its usual ones. */
  enabledJWA: Configuration['enabledJWA'] = {};
  private readonly memory = new OidcMemory();
  private readonly server: Server;
  private provider!: Provider;

  private constructor(readonly issuer: string) {
    this.server = createServer((request, response) => void this.handle(request, response));
  }

  /** @param issuer e.g. `http://127.0.0.1:4000`; @returns it, listening on another port */
  static async start(issuer: string): Promise<OidcIssuer> {
    const it = new OidcIssuer(issuer);
    it.restart();
    await new Promise<void>((resolve) => it.server.listen(0, '127.0.0.1', resolve));
    return it;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Configures it again, with other keys and other claims. Codes and sessions stay. */
  restart(
    change: Partial<Pick<OidcIssuer, 'key' | 'claimsInIdToken' | 'client' | 'features' | 'enabledJWA'>> = {},
  ): void {
    Object.assign(this, change);
    this.provider = new Provider(this.issuer, this.configuration());
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private configuration(): Configuration {
    return {
      adapter: this.memory.adapter,
      clients: [
        {
          client_id: 'latchkey',
          client_secret: 'a client secret of the issuer',
          redirect_uris: ['https://app.example/cb?a=1', 'https://app.example/other'],
          id_token_signed_response_alg: 'ES256',
          token_endpoint_auth_method: 'client_secret_post',
          ...this.client,
        },
      ],
      enabledJWA: this.enabledJWA,
      ttl: {
        AccessToken: 600,
        AuthorizationCode: 60,
        Grant: 600,
        IdToken: 600,
        Interaction: 600,
        Session: 600,
      },
      pkce: { required: () => true },
      claims: {
        email: ['email'],
        profile: ['preferred_username', 'picture'],
        openid: ['sub', 'https://idp.example/employee'],
      },
      conformIdTokenClaims: !this.claimsInIdToken,
      cookies: { keys: ['of this test'] },
      features: {
        devInteractions: { enabled: false },
        backchannelLogout: { enabled: true },
        rpInitiatedLogout: { logoutSource: (context, form) => void (context.body = form) },
        ...this.features,
      },
      // Its own refuses the addresses of this machine.
      fetch: (url, options) => fetch(url, { ...options, dispatcher: undefined } as object),
      jwks: { keys: [this.key.jwk] },
      findAccount: (_context, login) => ({ accountId: login, claims: () => claimsOf(login) }),
      // Nobody is asked for consent.
      loadExistingGrant: async ({ oidc }) => {
        const grant = new oidc.provider.Grant({
          clientId: oidc.client!.clientId,
          accountId: oidc.session!.accountId!,
        });
        grant.addOIDCScope('openid profile email');
        await grant.save();
        return grant;
      },
    };
  }

  /** A request for the login page with `?login=ada` is enough to sign in. */
  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', this.issuer);
    if (!pathname.startsWith('/interaction/')) {
      await this.provider.callback()(request, response);
      return;
    }
    const accountId = searchParams.get('login')!;
    await this.provider.interactionFinished(request, response, { login: { accountId } });
  }
}

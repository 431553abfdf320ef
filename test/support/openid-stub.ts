import type { IncomingMessage } from 'node:http';
import type { ProviderSettings } from '../../src/platform/config/settings/settings.js';
import { makeSigningKey, reissue } from './signing-key.js';
import { providerSettings, StubProvider, type ProviderRequest } from './stub-provider.js';

type Part = Record<string, unknown>;

/** What it answers at a path, in place of a JSON object: status, body, and headers. */
export type Said = readonly [status: number, body: string, headers?: Record<string, string>];

/** An OpenID provider with answers that a test can change; `undefined` removes a member. */
export class OpenIdStub {
  readonly key = makeSigningKey('first');
  metadata: Part = {};
  claims: Part = {};
  header: Part = {};
  /** Beside the ID token in the answer of the token endpoint. */
  token: Part = {};
  user: Part = {};
  jwks: Part | undefined;
  /** With what `/authorize` sends a browser back at once; the ID token then has the nonce of that request. */
  callback: Record<string, string> | undefined;
  private nonce: string | null = null;
  /** By path. */
  said: Record<string, Said> = {};
  /** Called before each answer; false suppresses the answer. */
  seen: (request: ProviderRequest, raw: IncomingMessage) => boolean | void = () => undefined;

  private constructor(private readonly stub: StubProvider) {
    stub.answer = (request, response, raw) => {
      if (this.seen(request, raw) === false) return;
      const { pathname, searchParams } = new URL(request.path, this.url);
      if (this.callback && pathname === '/authorize') {
        this.nonce = searchParams.get('nonce');
        const back = new URLSearchParams({ ...this.callback, state: searchParams.get('state') ?? '' });
        const location = `${searchParams.get('redirect_uri')}?${back.toString()}`;
        response.writeHead(302, { Location: location }).end();
        return;
      }
      const [status, body, headers = { 'Content-Type': 'application/json' }] = this.said[request.path] ?? [
        200,
        JSON.stringify(this.answer(request.path)),
      ];
      response.writeHead(status, headers).end(body);
    };
  }

  static async start(): Promise<OpenIdStub> {
    return new OpenIdStub(await StubProvider.start());
  }

  get url(): string {
    return this.stub.url;
  }

  get requests(): readonly ProviderRequest[] {
    return this.stub.requests;
  }

  /** The paths that were asked for, in their order. */
  get paths(): string[] {
    return this.stub.requests.map(({ path }) => path);
  }

  settings(more: Partial<ProviderSettings> = {}): ProviderSettings {
    return providerSettings('corp', {
      adapter: 'oidc',
      url: this.url,
      clientId: 'latchkey',
      clientSecret: 'a client secret',
      ...more,
    });
  }

  /** Back to what a good provider says; nothing was seen. */
  reset(): void {
    this.stub.requests.length = 0;
    [this.jwks, this.callback, this.nonce] = [undefined, undefined, null];
    this.seen = () => undefined;
    Object.assign(this, { metadata: {}, claims: {}, header: {}, token: {}, user: {}, said: {} });
  }

  async close(): Promise<void> {
    await this.stub.close();
  }

  idToken(): string {
    const now = Math.floor(Date.now() / 1000);
    const usual = {
      iss: this.url,
      aud: 'latchkey',
      sub: 'ada',
      iat: now,
      exp: now + 60,
      nonce: this.nonce ?? 'n',
    };
    const header = { alg: 'ES256', kid: 'first', ...this.header };
    return reissue('e30.e30.', this.key, { ...usual, ...this.claims }, header);
  }

  private answer(path: string): object {
    switch (path) {
      case '/.well-known/openid-configuration':
        return { ...documentOf(this.url), ...this.metadata };
      case '/jwks':
        return this.jwks ?? { keys: [{ ...this.key.jwk, d: undefined }] };
      case '/me':
        return { sub: 'ada', ...this.user };
      default:
        return {
          access_token: 'an access token',
          token_type: 'Bearer',
          id_token: this.idToken(),
          ...this.token,
        };
    }
  }
}

function documentOf(issuer: string): Part {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize?theirs=1`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/me`,
    jwks_uri: `${issuer}/jwks`,
    id_token_signing_alg_values_supported: ['ES256'],
  };
}

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
        return { ...documentOf(issuer), authorization_response_iss_parameter_supported: true };
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

import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  request as forward,
  type IncomingHttpHeaders,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  Provider,
  type ClientMetadata,
  type Configuration,
  type Adapter,
  type AdapterPayload,
} from 'oidc-provider';
import { makeSigningKey } from './signing-key.js';

/** What the accounts of the provider say about themselves; every login exists. */
const claimsOf = (login: string) => ({
  sub: login,
  preferred_username: login,
  email: `${login}@idp.example`,
  picture: `https://img.idp.example/${login}`,
  'https://idp.example/employee': { number: 4711 },
});

type Change = Partial<Pick<OidcIssuer, 'key' | 'claimsInIdToken' | 'client' | 'features' | 'enabledJWA'>>;

/** A real OpenID provider on loopback; its issuer is the address of the proxy before it. */
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

  /** Starts an issuer with the address of the proxy. @param change as of `restart` */
  static async behind(proxy: TamperingProxy, change: Change = {}): Promise<OidcIssuer> {
    const it = await OidcIssuer.start(proxy.url);
    proxy.target = it.port;
    it.restart(change);
    return it;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Configures it again, with other keys and other claims. Codes and sessions stay. */
  restart(change: Change = {}): void {
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
      // Grants consent without a prompt.
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

/** What a provider of a test remembers: in memory, so that it is kept when the provider is configured again. */
class OidcMemory {
  private readonly rows = new Map<string, AdapterPayload>();

  /** The storage of one model, as oidc-provider asks for it. */
  readonly adapter = (model: string): Adapter => {
    const key = (id: string): string => `${model}:${id}`;
    return {
      upsert: async (id, payload) => void this.rows.set(key(id), payload),
      find: async (id) => this.rows.get(key(id)),
      findByUid: async (uid) => [...this.rows.values()].find((row) => row.uid === uid),
      findByUserCode: async () => undefined,
      consume: async (id) => {
        const row = this.rows.get(key(id));
        if (row) row['consumed'] = Math.floor(Date.now() / 1000);
      },
      destroy: async (id) => void this.rows.delete(key(id)),
      revokeByGrantId: async (grantId) => {
        for (const [id, row] of this.rows) if (row.grantId === grantId) this.rows.delete(id);
      },
    };
  };
}

/** A person who signs in at the provider with a browser: follows redirects, keeps cookies, gives a login when asked. */
export class Person {
  private readonly cookies = new Map<string, string>();

  constructor(private readonly login: string) {}

  /** @returns the callback URL with code, state and iss; it is not called */
  async authorize(page: string): Promise<URL> {
    const { origin } = new URL(page);
    let url = new URL(page);
    for (let steps = 0; url.origin === origin && steps < 10; steps++) {
      if (url.pathname.startsWith('/interaction/')) url.searchParams.set('login', this.login);
      const response = await this.fetch(url);
      const location = response.headers.get('Location');
      if (!location) throw new Error(`${url.pathname} answered ${response.status}: ${await response.text()}`);
      url = new URL(location, url);
    }
    return url;
  }

  /**
   * Signs out at the provider; resolves once the provider has sent its logout tokens.
   * @param page its logout page
   */
  async logOut(page: URL | string): Promise<Response> {
    const text = await (await this.fetch(page)).text();
    const [, xsrf = ''] = /name="xsrf" value="(\w+)"/.exec(text) ?? [];
    const body = new URLSearchParams({ xsrf, logout: 'yes' });
    const { origin } = new URL(page);
    const done = await this.fetch(`${origin}/session/end/confirm`, { method: 'POST', body });
    if (done.status >= 400) throw new Error(`the provider answered ${done.status}: ${await done.text()}`);
    return done;
  }

  /** Like fetch, with the cookies of this person's browser, and without following redirects. */
  async fetch(url: URL | string, more: RequestInit = {}): Promise<Response> {
    const headers = { ...(more.headers as Record<string, string>), Cookie: this.cookieHeader() };
    const response = await fetch(url, { ...more, redirect: 'manual', headers });
    for (const cookie of response.headers.getSetCookie()) this.keep(cookie);
    return response;
  }

  cookie(name: string): string | undefined {
    return this.cookies.get(name);
  }

  private cookieHeader(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  private keep(cookie: string): void {
    const [pair = ''] = cookie.split(';');
    const [name = '', ...value] = pair.split('=');
    this.cookies.set(name, value.join('='));
  }
}

/** Changes an answer: returns another one, or nothing to leave it as it is. */
export type Tamper = (path: string, body: Record<string, unknown>) => Record<string, unknown> | undefined;

/** A proxy in front of a provider: changes the JSON that passes, and counts requests. */
export class TamperingProxy {
  /** Port of the provider; 0 while there is none. */
  target = 0;
  tamper: Tamper = () => undefined;
  /** Answers instead of the provider; returns whether it has. */
  intercept: (path: string, response: ServerResponse) => boolean = () => false;
  /** Everything that the token endpoint has answered, as it left the proxy; `reset` keeps it. */
  readonly tokens: Record<string, unknown>[] = [];
  readonly requests: { path: string; body: string; headers: IncomingHttpHeaders }[] = [];

  private constructor(private readonly server: Server) {}

  static async start(): Promise<TamperingProxy> {
    const server = createServer((incoming, outgoing) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        const { url: path = '', method, headers } = incoming;
        const body = Buffer.concat(chunks);
        proxy.requests.push({ path, body: body.toString(), headers });
        if (proxy.intercept(path, outgoing)) return;
        // The provider sees the proxy's own Host, so all its answers name the proxy's address.
        const onward = forward({ port: proxy.target, host: '127.0.0.1', path, method, headers }, (answer) => {
          const parts: Buffer[] = [];
          answer.on('data', (part: Buffer) => parts.push(part));
          answer.on('end', () => {
            const changed = proxy.change(path, answer.headers['content-type'], Buffer.concat(parts));
            const { 'transfer-encoding': _, ...others } = answer.headers;
            outgoing.writeHead(answer.statusCode ?? 0, { ...others, 'content-length': changed.length });
            outgoing.end(changed);
          });
        });
        onward.on('error', () => outgoing.destroy());
        onward.end(body);
      });
    });
    const proxy = new TamperingProxy(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** How often a path was asked for. */
  count(path: string): number {
    return this.requests.filter((request) => request.path.startsWith(path)).length;
  }

  reset(): void {
    this.tamper = () => undefined;
    this.intercept = () => false;
    this.requests.length = 0;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private change(path: string, contentType: string | undefined, body: Buffer): Buffer {
    if (!contentType?.includes('json')) return body;
    const said = JSON.parse(body.toString()) as Record<string, unknown>;
    const changed = this.tamper(path, said);
    if (path === '/token') this.tokens.push(changed ?? said);
    return changed ? Buffer.from(JSON.stringify(changed)) : body;
  }
}

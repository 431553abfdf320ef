import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import request from 'supertest';
import { query } from '../support/database.js';
import { beginSignIn, type Tokens } from '../support/sign-in.js';
import { makeSigningKey, reissue } from '../support/signing-key.js';
import { StubProvider } from '../support/stub-provider.js';

type Said = readonly [status: number, body: object | string];

/** An OpenID provider with refresh tokens: each code is the login of a user. */
export class RefreshingProvider {
  /** Members of ID tokens of a login besides the usual ones. */
  readonly claims = new Map<string, object>();
  /** Whether each refresh gives a new refresh token, and ends the former one. */
  rotates = true;
  /** Whether sign-ins get a refresh token. */
  gives = true;
  /** Whether refreshes get an ID token. */
  identifies = true;
  /** In place of the answer to a refresh; undefined: the usual one. */
  refusal: (login: string) => Said | undefined = () => undefined;
  /** Milliseconds before an answer to a refresh. */
  pause = 0;
  /** Milliseconds that a refresh takes, one after the other. */
  work = 0;
  /** Most refreshes that waited for this at a time. */
  mostAtOnce = 0;
  /** Logins of all refreshes, and when they came. */
  readonly refreshes: { readonly login: string; readonly at: number }[] = [];
  /** Logins by valid refresh token. */
  readonly tokens = new Map<string, string>();
  /** All refresh tokens that were ever sent. */
  readonly sent: string[] = [];
  private readonly key = makeSigningKey('first');
  private atOnce = 0;
  private worked = Promise.resolve();

  private constructor(private readonly stub: StubProvider) {
    stub.answer = ({ path, body }, response) => {
      const answer = async (): Promise<void> => {
        const [status, said] = await this.answer(path, new URLSearchParams(body));
        response.writeHead(status, { 'Content-Type': 'application/json' });
        response.end(typeof said === 'string' ? said : JSON.stringify(said));
      };
      void answer();
    };
  }

  static async start(): Promise<RefreshingProvider> {
    return new RefreshingProvider(await StubProvider.start());
  }

  get url(): string {
    return this.stub.url;
  }

  env(name = 'CORP', more: Record<string, string> = {}): Record<string, string> {
    const keys = {
      ADAPTER: 'oidc',
      NONCE: 'off',
      RECHECK: '60',
      CLAIMS: 'roles=roles,groups=groups',
      ...more,
    };
    const own = Object.entries(keys).map(([key, value]) => [`PROVIDERS_${name}_${key}`, value]);
    return { ...this.stub.env(name), ...(Object.fromEntries(own) as Record<string, string>) };
  }

  async signIn(url: string, login: string, body: object = {}): Promise<Tokens> {
    const state = await beginSignIn(url, { provider: 'corp' });
    const sent = request(url)
      .post('/oauth2/token')
      .send({ code: login, state, ...body });
    return (await sent.expect(200)).body as Tokens;
  }

  countOf(login: string): number {
    return this.refreshes.filter((one) => one.login === login).length;
  }

  reset(): void {
    Object.assign(this, {
      rotates: true,
      gives: true,
      identifies: true,
      pause: 0,
      work: 0,
      refusal: () => undefined,
    });
  }

  close(): Promise<void> {
    return this.stub.close();
  }

  private async answer(path: string, form: URLSearchParams): Promise<Said> {
    if (path === '/.well-known/openid-configuration') return [200, this.document()];
    if (path === '/jwks') return [200, { keys: [{ ...this.key.jwk, d: undefined }] }];
    if (path === '/me') return [200, { sub: 'nobody' }];
    if (form.get('grant_type') !== 'refresh_token') {
      const login = form.get('code') ?? '';
      return [200, this.answerFor(login, this.gives, true)];
    }
    const token = form.get('refresh_token') ?? '';
    const login = this.tokens.get(token);
    this.refreshes.push({ login: login ?? 'unknown', at: Date.now() });
    const refusal = this.refusal(login ?? 'unknown');
    if (this.pause > 0) await delay(this.pause);
    if (this.work > 0) {
      this.mostAtOnce = Math.max(this.mostAtOnce, ++this.atOnce);
      await (this.worked = this.worked.then(() => delay(this.work)));
      this.atOnce--;
    }
    if (refusal) return refusal;
    if (login === undefined) return [400, { error: 'invalid_grant', error_description: 'unknown token' }];
    if (this.rotates) this.tokens.delete(token);
    return [200, this.answerFor(login, this.rotates, this.identifies)];
  }

  private answerFor(login: string, givesToken: boolean, identifies: boolean): object {
    const token = `provider-refresh-token-${randomUUID()}`;
    if (givesToken) {
      this.tokens.set(token, login);
      this.sent.push(token);
    }
    const now = Math.floor(Date.now() / 1000);
    const usual = {
      iss: this.url,
      aud: 'latchkey',
      sub: login,
      iat: now,
      exp: now + 60,
      roles: [],
      groups: [],
    };
    const user = { name: 'Ada', email: 'ada@idp.example', picture: 'https://img.idp.example/ada' };
    const claims = { ...usual, ...user, ...this.claims.get(login) };
    return {
      access_token: 'an access token',
      token_type: 'Bearer',
      ...(identifies && {
        id_token: reissue('e30.e30.', this.key, claims, { alg: 'ES256', kid: 'first' }),
      }),
      ...(givesToken && { refresh_token: token }),
    };
  }

  private document(): object {
    return {
      issuer: this.url,
      authorization_endpoint: `${this.url}/authorize`,
      token_endpoint: `${this.url}/token`,
      userinfo_endpoint: `${this.url}/me`,
      jwks_uri: `${this.url}/jwks`,
      id_token_signing_alg_values_supported: ['ES256'],
    };
  }
}

/** Moves the next re-check of a user to now. */
export async function makeDue(databaseUrl: string, userId: string): Promise<void> {
  const change = `UPDATE provider_checks SET due_at = now(), checked_at = now() - interval '1 day'
    WHERE user_id = $1 AND due_at IS NOT NULL`;
  await query(databaseUrl, change, [userId]);
}

export interface CheckRow {
  readonly due: boolean | null;
  /** Since `makeDue`, a good answer was applied. */
  readonly fresh: boolean;
  readonly attempts: number;
  readonly failing: boolean;
  readonly ends_at: Date | null;
}

/** The row of a user; undefined: none. */
export async function checkOf(databaseUrl: string, userId: string): Promise<CheckRow | undefined> {
  const [row] = await query<CheckRow & Record<string, unknown>>(
    databaseUrl,
    `SELECT due_at <= now() AS due, checked_at > now() - interval '1 hour' AS fresh, attempts, failing_since IS NOT NULL AS failing, ends_at
     FROM provider_checks WHERE user_id = $1`,
    [userId],
  );
  return row;
}

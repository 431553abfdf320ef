import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import request, { type Test } from 'supertest';
import { OidcIssuer, Person, TamperingProxy } from '../support/oidc-issuer.js';
import { makeSigningKey, reissue } from '../support/signing-key.js';
import type { Tokens } from '../support/sign-in.js';

type Part = Record<string, unknown>;

const SECEVENT = 'https://schemas.openid.net/secevent';

/** URI of an event. */
export const caep = (name: string): string => `${SECEVENT}/caep/event-type/${name}`;
export const risc = (name: string): string => `${SECEVENT}/risc/event-type/${name}`;
export const ssf = (name: string): string => `${SECEVENT}/ssf/event-type/${name}`;

const PUBLIC_URL = 'http://localhost:3000';
const REDIRECT_URI = 'https://app.example/cb?a=1';

export const seconds = (): number => Math.floor(Date.now() / 1000);

/** An OpenID provider with a transmitter that signs by hand what a test says. */
export class Transmitter {
  readonly key = makeSigningKey('signals');
  /** What differs from the usual metadata. */
  metadata: Part = {};

  private constructor(
    readonly issuer: OidcIssuer,
    readonly proxy: TamperingProxy,
  ) {}

  static async start(): Promise<Transmitter> {
    const proxy = await TamperingProxy.start();
    // So that ID tokens have a `sid`; no user signs out at the provider.
    const client = {
      backchannel_logout_uri: 'http://127.0.0.1:1',
      backchannel_logout_session_required: true,
    };
    const issuer = await OidcIssuer.behind(proxy, { client });
    const it = new Transmitter(issuer, proxy);
    proxy.intercept = (path, response) => it.answer(path, response);
    return it;
  }

  async close(): Promise<void> {
    await this.issuer.close();
    await this.proxy.close();
  }

  get url(): string {
    return this.proxy.url;
  }

  /** Settings of the provider `corp`. */
  env(more: Record<string, string> = {}): Record<string, string> {
    return {
      ...providerEnv('CORP', this.url),
      PROVIDERS_CORP_SIGNALS: 'on',
      PROVIDERS_CORP_CLAIMS: 'roles=realm.roles,groups=groups,plan=plan',
      PUBLIC_URL,
      REDIRECT_URIS: REDIRECT_URI,
      ...more,
    };
  }

  /** A token with one event. @param claims and `header`: what differs from the usual ones; undefined: absent */
  set(event: string, body: Part = {}, claims: Part = {}, header: Part = {}): string {
    const usual = {
      iss: this.url,
      aud: PUBLIC_URL,
      iat: seconds(),
      jti: randomUUID(),
      events: { [event]: body },
    };
    const usualHeader = { alg: 'ES256', kid: this.key.jwk['kid'], typ: 'secevent+jwt' };
    return reissue('e30.e30.', this.key, { ...usual, ...claims }, { ...usualHeader, ...header });
  }

  /** `sub_id` of a user of the provider. */
  subject(sub: string): Part {
    return { format: 'iss_sub', iss: this.url, sub };
  }

  /** Signs a person in on an instance. */
  async signIn(person: Person, on: { readonly url: string }, body: object = {}): Promise<Tokens> {
    const answer = await this.exchange(person, on, body);
    if (answer.status !== 200)
      throw new Error(`a sign-in was answered with ${answer.status}: ${answer.text}`);
    return answer.body as Tokens;
  }

  async exchange(person: Person, on: { readonly url: string }, body: object = {}, provider = 'corp') {
    const begun = await request(on.url).get('/oauth2/authorize').query({ provider }).expect(200);
    const callback = await person.authorize((begun.body as { redirect_url: string }).redirect_url);
    return request(on.url)
      .post('/oauth2/token')
      .send({ ...Object.fromEntries(callback.searchParams), ...body });
  }

  private answer(path: string, response: ServerResponse): boolean {
    const documents: Record<string, object> = {
      '/.well-known/ssf-configuration': {
        spec_version: '1_0',
        issuer: this.url,
        jwks_uri: `${this.url}/ssf/jwks`,
        delivery_methods_supported: ['urn:ietf:rfc:8935'],
        ...this.metadata,
      },
      '/ssf/jwks': { keys: [{ ...this.key.jwk, d: undefined }] },
    };
    const document = documents[path];
    if (!document) return false;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(document));
    return true;
  }
}

export function providerEnv(name: string, url: string): Record<string, string> {
  return {
    [`PROVIDERS_${name}_ADAPTER`]: 'oidc',
    [`PROVIDERS_${name}_URL`]: url,
    [`PROVIDERS_${name}_CLIENT_ID`]: 'latchkey',
    [`PROVIDERS_${name}_CLIENT_SECRET`]: 'a client secret of the issuer',
  };
}

/** Pushes a token, as a transmitter does (RFC 8935 §2.1). */
export function push(on: { readonly url: string }, token: string, provider = 'corp'): Test {
  return request(on.url)
    .post(`/providers/${provider}/signals`)
    .set('Content-Type', 'application/secevent+jwt')
    .set('Accept', 'application/json')
    .send(token);
}

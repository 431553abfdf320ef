import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { AGENT_SECRET, AGENTS, API } from './agent.js';
import type { OpenIdStub } from '../support/openid-stub.js';
import { authorization, type Tokens } from '../support/sign-in.js';
import { reissue, type SigningKey } from '../support/signing-key.js';

export const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
export const now = (): number => Math.floor(Date.now() / 1000);

export interface Claims {
  [name: string]: unknown;
}

/** @returns settings of a provider that allows programs */
export const idJagEnv = (name: string, url: string): Record<string, string> => ({
  [`PROVIDERS_${name}_ADAPTER`]: 'oidc',
  [`PROVIDERS_${name}_URL`]: url,
  [`PROVIDERS_${name}_CLIENT_ID`]: 'latchkey',
  [`PROVIDERS_${name}_CLIENT_SECRET`]: 'a client secret of the issuer',
  [`PROVIDERS_${name}_ID_JAG`]: 'on',
  [`PROVIDERS_${name}_CLAIMS`]: 'roles=roles',
});

/** A person of a company, whose provider `corp` lets programs act at a service. */
export class Employee {
  readonly sub = randomUUID();

  constructor(
    private readonly issuer: OpenIdStub,
    private readonly url: string,
  ) {}

  /** As a provider makes it (draft-ietf-oauth-identity-assertion-authz-grant §3); `undefined` removes a member. */
  assertion(claims: Claims = {}, header: Claims = {}, key: SigningKey = this.issuer.key): string {
    const usual = {
      iss: this.issuer.url,
      sub: this.sub,
      aud: this.url,
      client_id: AGENTS.secret.client_id,
      jti: randomUUID(),
      iat: now(),
      exp: now() + 300,
      resource: API,
      scope: 'orders:read',
      email: `${this.sub}@corp.example`,
    };
    const type = { alg: 'ES256', kid: 'first', typ: 'oauth-id-jag+jwt' };
    return reissue('e30.e30.', key, { ...usual, ...claims }, { ...type, ...header });
  }

  exchange(token: string, more: Claims = {}, url = this.url) {
    const secret = { client_id: AGENTS.secret.client_id, client_secret: AGENT_SECRET };
    const sent = Object.entries({ grant_type: GRANT, assertion: token, ...secret, ...more });
    const body = Object.fromEntries(sent.filter(([, value]) => value !== undefined));
    return request(url).post('/oauth2/token').type('form').send(body);
  }

  async signIn(claims: Claims = {}, device_id: string = randomUUID()): Promise<Tokens> {
    const { sub, issuer, url } = this;
    issuer.callback = { code: 'a code' };
    issuer.claims = { sub, ...claims };
    issuer.user = { sub };
    const { redirect_url, state } = await authorization(url, { provider: 'corp' });
    await fetch(redirect_url, { redirect: 'manual' });
    const body = { code: 'a code', state, device_id };
    return (await request(url).post('/oauth2/token').send(body).expect(200)).body as Tokens;
  }
}

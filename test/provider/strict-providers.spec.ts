import { createHash } from 'node:crypto';
import request from 'supertest';
import { OpenIdStub } from '../support/openid-stub.js';
import { query } from '../support/database.js';
import { startTestService } from '../support/service.js';
import { authorization } from '../support/sign-in.js';
import { providersEnv } from '../support/stub-provider.js';
import { use } from '../support/use.js';

/** Providers that refuse what they do not know, or that leave out what they should send. */
describe('a provider that is not as the standards say', () => {
  const stub = use(() => OpenIdStub.start());
  const service = use(() => {
    const oauth2 = {
      adapter: 'oauth2',
      authorize_url: `${stub.url}/authorize`,
      token_url: `${stub.url}/token`,
      userinfo_url: `${stub.url}/me`,
    };
    const oidc = { adapter: 'oidc', url: stub.url };
    const providers = {
      'contract-pkce': { url: stub.url, pkce: 'on' },
      oauth2,
      'oauth2-no-pkce': { ...oauth2, pkce: 'off' },
      oidc,
      'oidc-no-pkce': { ...oidc, pkce: 'off' },
      'oidc-no-nonce': { ...oidc, nonce: 'off' },
    };
    return startTestService(providersEnv(providers));
  });
  beforeEach(() => stub.reset());

  async function begin(provider: string): Promise<{ page: URL; state: string }> {
    const { redirect_url, state } = await authorization(service.url, { provider });
    return { page: new URL(redirect_url), state };
  }

  const finish = (state: string): request.Test =>
    request(service.url).post('/oauth2/token').send({ code: 'a code', state });

  /** A whole sign-in, in which an ID token has the nonce that was sent. */
  async function signIn(provider: string): Promise<number> {
    const { page, state } = await begin(provider);
    stub.claims = { nonce: page.searchParams.get('nonce') ?? undefined, ...stub.claims };
    return (await finish(state)).status;
  }

  describe('a token endpoint that refuses code_verifier', () => {
    beforeEach(() => {
      stub.seen = ({ path, body }) => {
        const isRefused = path === '/token' && new URLSearchParams(body).has('code_verifier');
        stub.said = isRefused ? { '/token': [400, '{"error":"invalid_request"}'] } : {};
      };
    });

    it.each(['oauth2', 'oidc'])('signs in with pkce off: %s', async (adapter) => {
      expect(await signIn(adapter)).toBe(400);
      stub.claims = {};
      expect(await signIn(`${adapter}-no-pkce`)).toBe(200);
    });
  });

  it('an ID token without nonce signs in with nonce off', async () => {
    stub.claims = { nonce: undefined };
    expect(await signIn('oidc')).toBe(500);
    stub.claims = { nonce: undefined };
    expect(await signIn('oidc-no-nonce')).toBe(200);
  });

  it.each([null, '3600', { a: 1 }, undefined])(
    'members that are not used may be %j at a plain OAuth 2.0 provider',
    async (odd) => {
      stub.token = {
        token_type: odd,
        expires_in: odd,
        scope: odd,
        refresh_token: odd,
        id_token: odd,
        error: null,
      };
      stub.user = { updated_at: odd, email: odd, error: odd };
      expect(await signIn('oauth2')).toBe(200);
    },
  );

  // RFC 7636 §4.6, as a provider of the contract may verify it.
  it('a provider of the contract refuses the code of another sign-in, with pkce on', async () => {
    const challenges = new Map<string, string>();
    stub.seen = ({ body }) => {
      const form = new URLSearchParams(body);
      const hash = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url');
      const isGood = challenges.get(form.get('code') ?? '') === hash;
      stub.said = {
        '/oauth2/token/exchange': isGood
          ? [200, '{"provider_user_id":"ada"}']
          : [400, '{"error":"invalid_grant"}'],
      };
    };
    const victim = await begin('contract-pkce');
    challenges.set('a code', victim.page.searchParams.get('code_challenge') ?? '');
    expect(victim.page.searchParams.get('code_challenge_method')).toBe('S256');
    await finish((await begin('contract-pkce')).state).expect(401);
    await finish(victim.state).expect(200);
    const [{ left }] = (await query(
      service.databaseUrl,
      'SELECT count(*)::int AS left FROM authorization_states WHERE memory IS NOT NULL AND provider = $1',
      ['contract-pkce'],
    )) as [{ left: number }];
    expect(left).toBe(0);
  });
});

import request from 'supertest';
import { Agent, agentsFile, type AgentTokens } from './agent.js';
import { makeLogoutToken } from '../support/forged-tokens.js';
import { OpenIdStub } from '../support/openid-stub.js';
import { SERVICE_KEY, startTestService } from '../support/service.js';
import { claimsOf } from '../support/sign-in.js';
import { use } from '../support/use.js';

describe('a program, and the provider of its user', () => {
  const issuer = use(() => OpenIdStub.start());
  const service = use(() =>
    startTestService({
      PROVIDERS_MOCK_ENABLED: 'false',
      PROVIDERS_CORP_ADAPTER: 'oidc',
      PROVIDERS_CORP_URL: issuer.url,
      PROVIDERS_CORP_CLIENT_ID: 'latchkey',
      PROVIDERS_CORP_CLIENT_SECRET: 'a client secret of the issuer',
      SERVICE_KEYS: SERVICE_KEY,
      AGENTS_FILE: agentsFile(),
    }),
  );
  beforeEach(() => {
    issuer.reset();
    issuer.callback = { code: 'a code' };
  });

  const now = (): number => Math.floor(Date.now() / 1000);
  const logout = (claims: object): Promise<unknown> =>
    request(service.url)
      .post('/providers/corp/backchannel-logout')
      .type('form')
      .send({ logout_token: makeLogoutToken(issuer.key, { iss: issuer.url, ...claims }) })
      .expect(200);
  const isRefreshed = async (agent: Agent, tokens: AgentTokens): Promise<boolean> =>
    (await agent.refresh(tokens)).status === 200;

  it('goes on when the session of the browser ends, and not when the person is logged out everywhere', async () => {
    issuer.claims = { sid: 'of the browser' };
    const agent = new Agent(service.url);
    const tokens = await agent.allowed();
    await logout({ sub: 'ada', sid: 'of the browser' });
    await logout({ sid: 'of the browser' });
    expect(await isRefreshed(agent, tokens)).toBe(true);
    await logout({ sub: 'ada' });
    expect(await isRefreshed(agent, tokens)).toBe(false);
  });

  it('gets nothing if the person is logged out before the code is redeemed', async () => {
    issuer.claims = { sub: 'grace', sid: 'another' };
    issuer.user = { sub: 'grace' };
    const agent = new Agent(service.url);
    const code = await agent.code();
    await logout({ sub: 'grace' });
    expect((await agent.redeem(code).expect(401)).body).toMatchObject({ error: 'invalid_grant' });
  });

  it('ends with the session at the provider, and knows when the person authenticated', async () => {
    issuer.user = { sub: 'eve' };
    const authTime = now() - 100;
    issuer.claims = {
      sub: 'eve',
      session_expiry: now() + 600,
      auth_time: authTime,
      acr: 'gold',
      amr: ['pwd'],
    };
    const agent = new Agent(service.url);
    const tokens = await agent.allowed();
    const claims = claimsOf(tokens.access_token);
    expect(claims).toMatchObject({ auth_time: authTime });
    expect(Object.keys(claims)).not.toEqual(expect.arrayContaining(['acr']));
    expect(tokens.expires_in).toBeLessThanOrEqual(600);
    const refreshed = (await agent.refresh(tokens).expect(200)).body as AgentTokens;
    expect(refreshed.expires_in).toBeLessThanOrEqual(600);
    expect(claimsOf(refreshed.access_token)).toMatchObject({ auth_time: authTime });
  });

  it('is asked for only if the person authenticates as the program wants', async () => {
    issuer.claims = { auth_time: now() - 5000 };
    const answer = await new Agent(service.url).ask({ max_age: '300' });
    expect(answer.headers['location']).toContain('error=');
  });
});

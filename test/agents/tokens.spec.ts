import request from 'supertest';
import { SERVICE_KEY } from '../support/service.js';
import { Agent, AGENT_SECRET, agentsFile, AGENTS, API, API_KEY } from './agent.js';
import { bearer, claimsOf } from '../support/sign-in.js';
import { useService } from '../support/use.js';
import { use } from '../support/use.js';

describe('a program that a user has allowed', () => {
  const { provider, service } = useService(() => ({
    PROVIDERS_MOCK_ENABLED: 'false',
    SERVICE_KEYS: SERVICE_KEY,
    AGENTS_FILE: agentsFile(),
  }));
  const without = use(() => service.another({ AGENTS_FILE: '' }));
  beforeAll(() => {
    provider.claims.set('ada', { roles: ['editor'], plan: 'pro', team: 'red' });
    provider.signInAtOnce(() => 'ada');
  });

  it('has tokens for one API alone', async () => {
    const agent = new Agent(service.url);
    const tokens = (await agent.redeem(await agent.code()).expect(200)).body as Record<string, unknown>;
    expect(tokens).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 3600,
      refresh_token: expect.stringMatching(/^lka_/),
      refresh_token_expires_in: 2_592_000,
      scope: 'orders:read orders:write',
    });
    const claims = claimsOf(tokens['access_token'] as string);
    expect(claims).toEqual({
      iss: service.url,
      aud: API,
      sub: expect.any(String),
      sid: expect.any(String),
      device_id: expect.stringMatching(/^a6e17000-0000-8/),
      client_id: 'web-agent',
      scope: 'orders:read orders:write',
      jti: expect.any(String),
      iat: expect.any(Number),
      exp: expect.any(Number),
      roles: ['editor'],
      claims: { plan: 'pro' },
    });
  });

  it('never gets a token of the application', async () => {
    const agent = new Agent(service.url);
    const code = await agent.code();
    const first = await agent.redeem(code, {}, without.url).expect(401);
    expect(first.body).toMatchObject({ error: 'invalid_grant' });
    const tokens = (await agent.redeem(code).expect(200)).body as { refresh_token: string };
    for (const [path, body] of [
      ['/oauth2/refresh', {}],
      ['/oauth2/token', { grant_type: 'refresh_token', client_id: 'web-agent' }],
    ] as const) {
      const sent = { ...body, refresh_token: tokens.refresh_token };
      const refused = await request(without.url).post(path).type('form').send(sent).expect(401);
      expect(refused.body).toMatchObject({ error: 'invalid_grant' });
    }
    const body = { refresh_token: tokens.refresh_token };
    const refused = await request(service.url).post('/oauth2/refresh').send(body).expect(401);
    expect(refused.body).toMatchObject({ error: 'invalid_grant' });
    expect(claimsOf((await agent.refresh(tokens).expect(200)).body.access_token)).toMatchObject({ aud: API });
  });

  it('is refused by every endpoint of the application', async () => {
    const { access_token: token } = await new Agent(service.url).allowed();
    for (const path of ['/me', '/devices', '/users', '/audit', '/sessions/ended', '/forward-auth']) {
      expect((await bearer(service.url, token).get(path).expect(401)).body).toMatchObject({
        error: 'invalid_token',
      });
    }
    await bearer(service.url, token).post('/sign-out', { scope: 'all' }).expect(401);
    await bearer(service.url, token).post('/push', {}).expect(401);
  });

  it('refreshes with the same token, for fewer scopes if it likes', async () => {
    const agent = new Agent(service.url);
    const tokens = await agent.allowed();
    const all = await agent
      .refresh(tokens, { resource: `${API}/`, scope: 'openid offline_access' })
      .expect(200);
    expect(all.body).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'orders:read orders:write',
    });
    const narrow = await agent.refresh(tokens, { scope: 'orders:read' }).expect(200);
    expect(narrow.body).toMatchObject({ scope: 'orders:read' });
    expect(claimsOf(narrow.body.access_token)).toMatchObject({ scope: 'orders:read' });
    expect((await agent.refresh(tokens).expect(200)).body).toMatchObject({
      scope: 'orders:read orders:write',
    });
  });

  it.each([
    ['another client', { client_id: 'cli-agent' }, 401, 'invalid_grant'],
    ['no client', { client_id: undefined }, 400, 'invalid_client'],
    ['another resource', { resource: 'https://other.example/' }, 400, 'invalid_target'],
    ['more scopes', { scope: 'orders:read orders:delete' }, 400, 'invalid_scope'],
    ['an unknown token', { refresh_token: 'lka_x' }, 401, 'invalid_grant'],
  ])('is refused a refresh with %s', async (_what, more, status, error) => {
    const agent = new Agent(service.url);
    const tokens = await agent.allowed();
    expect((await agent.refresh(tokens, more).expect(status)).body).toMatchObject({ error });
  });

  it.each([
    ['another client', { client_id: 'cli-agent' }, 401, 'invalid_grant', true],
    ['no client', { client_id: undefined }, 400, 'invalid_client', false],
    ['another redirect URI', { redirect_uri: 'https://agent.example/other' }, 401, 'invalid_grant', true],
    ['another verifier', { code_verifier: 'v'.repeat(43) }, 401, 'invalid_grant', true],
    ['another resource', { resource: 'https://other.example' }, 400, 'invalid_target', false],
  ])('is refused a code with %s', async (_what, more, status, error, isSpent) => {
    const agent = new Agent(service.url);
    const code = await agent.code();
    expect((await agent.redeem(code, more).expect(status)).body).toMatchObject({ error });
    await agent.redeem(code).expect(isSpent ? 401 : 200);
    await agent.redeem(code).expect(401);
  });

  it('shows its secret, in either way, at each call', async () => {
    const agent = new Agent(service.url, AGENTS.secret);
    const code = await agent.code();
    expect((await agent.redeem(code).expect(400)).body).toMatchObject({ error: 'invalid_client' });
    const wrong = { client_secret: 'wrong' };
    expect((await agent.redeem(code, wrong).expect(400)).body).toMatchObject({ error: 'invalid_client' });
    const tokens = (await agent.redeem(code, { client_secret: AGENT_SECRET }).expect(200)).body;
    expect((await agent.refresh(tokens).expect(400)).body).toMatchObject({ error: 'invalid_client' });
    await agent.refresh(tokens, { client_id: undefined }).auth('secret-agent', AGENT_SECRET).expect(200);
  });

  it('is introspected, with the claims of its API alone, by this API and by the operator', async () => {
    const { access_token: token, refresh_token } = await new Agent(service.url).allowed();
    const introspect = (key: string, body: object = { token }) =>
      request(service.url).post('/oauth2/introspect').set('Authorization', `Bearer ${key}`).send(body);
    const ids = { sub: expect.any(String), sid: expect.any(String), device_id: expect.any(String) };
    const times = { iat: expect.any(Number), exp: expect.any(Number), jti: expect.any(String) };
    const expected = { active: true, ...ids, ...times, iss: service.url, token_type: 'Bearer' };
    const own = { aud: API, client_id: 'web-agent', scope: 'orders:read orders:write' };
    for (const key of [SERVICE_KEY, API_KEY]) {
      const claims = { roles: ['editor'], claims: { plan: 'pro' } };
      expect((await introspect(key).expect(200)).body).toEqual({ ...expected, ...own, ...claims });
    }
    const other = await new Agent(service.url).allowed({ resource: 'https://other.example' });
    for (const one of [other.access_token, refresh_token]) {
      const body = { token: one, token_type_hint: 'refresh_token' };
      expect((await introspect(API_KEY, body).expect(200)).body).toEqual({ active: false });
    }
  });

  it('has an API whose key may do nothing else', async () => {
    for (const path of ['/users', '/audit', '/audit/stream']) {
      const refused = await bearer(service.url, API_KEY).get(path).expect(403);
      expect(refused.body).toMatchObject({ error: 'insufficient_scope' });
    }
    await bearer(service.url, API_KEY).post('/push', {}).expect(403);
  });

  it('passes a proxy with the audience and the scopes that are asked for', async () => {
    const { access_token: token } = await new Agent(service.url).allowed({}, ['orders:read']);
    const ask = (query: string) => bearer(service.url, token).get(`/forward-auth${query}`);
    const passed = await ask(`?resource=${API}&scope=orders:read`).expect(200);
    expect(passed.headers).toMatchObject({
      'x-latchkey-client': 'web-agent',
      'x-latchkey-scope': 'orders%3Aread',
      'x-latchkey-roles': 'editor',
      'x-latchkey-username': '',
    });
    const missing = await ask(`?resource=${API}&scope=orders:write`).expect(403);
    expect(missing.headers['www-authenticate']).toBe(
      'Bearer error="insufficient_scope", scope="orders:read orders:write"',
    );
    await ask('?resource=https://other.example').expect(401);
    await ask('').expect(401);
    await ask('?resource=https://unknown.example').expect(401);
  });
});

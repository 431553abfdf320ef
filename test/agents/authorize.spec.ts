import request from 'supertest';
import { Agent, agentsFile, AGENTS, AGENTS_CONTENT, answerOf, API } from './agent.js';
import { eventsOf } from '../support/audit.js';
import { SERVICE_KEY } from '../support/service.js';
import { StockClient } from '../support/stock-client.js';
import { claimsOf } from '../support/sign-in.js';
import { useService } from '../support/use.js';
import { use } from '../support/use.js';

const UNTRUSTED = 'https://untrusted.example/client.json';

describe('GET /oauth2/authorize of a program', () => {
  const { provider, service } = useService(() => ({
    PROVIDERS_MOCK_ENABLED: 'false',
    SERVICE_KEYS: SERVICE_KEY,
    DEVICE_GRANT: 'on',
    REDIRECT_URIS: 'https://app.example/cb,https://agent.example/cb',
    AGENTS_FILE: agentsFile({ ...AGENTS_CONTENT, trust: ['trusted.example'] }),
  }));
  const without = use(() => service.another({ AGENTS_FILE: '' }));
  beforeEach(() => {
    provider.reset();
    provider.signInAtOnce();
  });

  it.each([
    ['no challenge', { code_challenge: undefined }, 'invalid_request'],
    ['a plain challenge', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['a short challenge', { code_challenge: 'short' }, 'invalid_request'],
    ['another response type', { response_type: 'token' }, 'unsupported_response_type'],
    ['no response type', { response_type: undefined }, 'unsupported_response_type'],
    ['another response mode', { response_mode: 'fragment' }, 'invalid_request'],
    ['no resource', { resource: undefined }, 'invalid_target'],
    ['an unknown resource', { resource: 'https://unknown.example' }, 'invalid_target'],
    ['two resources', { resource: [API, 'https://other.example/'] }, 'invalid_target'],
    ['unknown scopes', { scope: 'notes:read unknown' }, 'invalid_scope'],
    ['an answer without a page', { prompt: 'none' }, 'interaction_required'],
  ])('tells the program of %s', async (_what, more, error) => {
    const answer = await new Agent(service.url).authorize(more);
    expect(answer.status).toBe(302);
    expect(answer.headers['location']).toMatch(/^https:\/\/agent\.example\/cb\?/);
    expect(answerOf(answer)).toEqual({
      error,
      error_description: expect.any(String),
      state: 'a state',
      iss: service.url,
    });
  });

  it.each([
    ['an unknown redirect URI', { redirect_uri: 'https://app.example/cb' }],
    ['a longer redirect URI', { redirect_uri: 'https://agent.example/cb/' }],
    ['no redirect URI', { redirect_uri: undefined }],
    ['a state that cannot be returned', { state: '\u0001' }],
  ])('shows a page for %s', async (_what, more) => {
    const answer = await new Agent(service.url).authorize(more);
    expect([answer.status, answer.headers['content-type']]).toEqual([400, 'text/html; charset=utf-8']);
    expect(answer.headers['location']).toBeUndefined();
  });

  it('accepts loopback at any port, by the name that was registered', async () => {
    const cli = new Agent(service.url, { ...AGENTS.cli, redirect_uris: ['http://127.0.0.1:40123/cb'] });
    expect((await cli.ask()).text).toContain('A program on this computer');
    const other = new Agent(service.url, { ...AGENTS.cli, redirect_uris: ['http://localhost:40123/cb'] });
    expect((await other.authorize()).status).toBe(400);
    const impossible = { redirect_uri: 'http://127.0.0.1:99999/cb' };
    expect((await new Agent(service.url, AGENTS.cli).authorize(impossible)).status).toBe(400);
  });

  it.each(['https://API.example/mcp', 'HTTPS://api.example/mcp/'])(
    'knows the API as %s',
    async (resource) => {
      const { access_token } = await new Agent(service.url).allowed({ resource });
      expect(claimsOf(access_token)).toMatchObject({ aud: API });
    },
  );

  it.each([
    [{}, 'notes:read'],
    [{ scope: 'openid profile email offline_access' }, 'notes:read'],
    [{ scope: 'notes:write unknown openid' }, 'notes:write'],
  ])('asks for %j: %s', async (more, scope) => {
    const agent = new Agent(service.url);
    expect(await agent.allowed({ resource: 'https://other.example', ...more })).toMatchObject({ scope });
  });

  it('passes the parameters of the sign-in on, and its own question not', async () => {
    const agent = new Agent(service.url);
    const begun = await agent.authorize({ prompt: 'login consent', login_hint: 'ada@example.com' });
    const query = new URL(begun.headers['location']!, service.url).searchParams;
    expect([query.get('prompt'), query.get('login_hint'), query.get('resource')]).toEqual([
      'login',
      'ada@example.com',
      null,
    ]);
  });

  it('shows a page that names the host of a program that is not trusted', async () => {
    const agent = new Agent(service.url, {
      client_id: UNTRUSTED,
      redirect_uris: ['https://untrusted.example/'],
    });
    const events = await eventsOf(service.databaseUrl, 1, async () => {
      const answer = await agent.authorize();
      expect(answer.status).toBe(400);
      expect(answer.text).toContain('untrusted.example');
      expect(answer.headers['set-cookie']).toBeUndefined();
    });
    const reason = `not trusted: ${UNTRUSTED}`;
    expect(events).toMatchObject([
      { event: 'agent_refused', result: 'refused', error: 'invalid_client', reason },
    ]);
  });

  it('does not begin by HEAD', async () => {
    const query = { client_id: 'web-agent', redirect_uri: 'https://agent.example/cb', response_type: 'code' };
    await request(service.url).head('/oauth2/authorize').query(query).expect(405);
  });

  it('sends the error of the sign-in to the program', async () => {
    provider.answer = (sent, response) => {
      const query = new URL(sent.path, 'http://x').searchParams;
      const back = `${query.get('redirect_uri')}?error=access_denied&state=${query.get('state')}`;
      response.writeHead(302, { Location: back }).end();
    };
    const answer = await new Agent(service.url).ask();
    expect(answerOf(answer)).toMatchObject({ error: 'access_denied', state: 'a state', iss: service.url });
  });

  describe('of other clients', () => {
    it('refuses resource to an OAuth client', async () => {
      const answer = await new StockClient('https://app.example/cb').authorize(service.url, {
        resource: API,
      });
      expect(answerOf(answer)).toMatchObject({ error: 'invalid_target', iss: service.url });
      const stock = new StockClient('https://evil.example/cb');
      expect((await stock.authorize(service.url, { resource: API })).status).toBe(400);
    });

    it('refuses resource to a client of the specification', async () => {
      const query = { provider: 'stub', redirect_uri: 'https://app.example/cb', resource: API };
      const refused = await request(service.url).get('/oauth2/authorize').query(query).expect(400);
      expect(refused.body).toMatchObject({ error: 'invalid_target' });
    });

    it('refuses resource with a code of the application', async () => {
      const stock = new StockClient('https://app.example/cb');
      const code = await stock.codeFrom(service.url);
      const refused = await stock.token(service.url, code, { resource: API }).expect(400);
      expect(refused.body).toMatchObject({ error: 'invalid_target' });
      await stock.token(service.url, code).expect(200);
    });

    it('ignores resource while there is no AGENTS_FILE', async () => {
      const stock = new StockClient('https://app.example/cb', 'web-agent');
      const begun = await stock.authorize(without.url, { resource: API }).expect(302);
      expect(begun.headers['location']).toContain(provider.url);
    });

    it('gives programs no device code', async () => {
      const begin = (client_id: string, url = service.url) =>
        request(url).post('/oauth2/device_authorization').type('form').send({ client_id });
      for (const client_id of ['web-agent', UNTRUSTED]) {
        expect((await begin(client_id).expect(400)).body).toMatchObject({ error: 'unauthorized_client' });
      }
      await begin('my-cli').expect(200);
      await begin('web-agent', without.url).expect(200);
    });
  });

  it('is described in the metadata', async () => {
    for (const path of ['oauth-authorization-server', 'openid-configuration']) {
      const { body } = await request(service.url).get(`/.well-known/${path}`).expect(200);
      expect(body).toMatchObject({
        client_id_metadata_document_supported: true,
        scopes_supported: ['orders:read', 'orders:write', 'notes:read', 'notes:write'],
        protected_resources: [API, 'https://other.example/'],
        token_endpoint_auth_methods_supported: expect.arrayContaining(['none', 'private_key_jwt']),
        token_endpoint_auth_signing_alg_values_supported: expect.arrayContaining(['ES256']),
      });
    }
    const { body } = await request(without.url).get('/.well-known/oauth-authorization-server').expect(200);
    expect(body).toMatchObject({ token_endpoint_auth_methods_supported: ['none'] });
    expect(body).not.toHaveProperty('protected_resources');
  });
});

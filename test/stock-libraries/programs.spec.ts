import { once } from 'node:events';
import type { Server } from 'node:http';
import express from 'express';
import * as oauth from 'oauth4webapi';
import * as client from 'openid-client';
import { createVerifier } from '../../packages/server/src/index.js';
import { authenticate, protectedResource, requireScope } from '../../packages/server/src/express.js';
import { Agent, AGENT_SECRET, AGENTS, AGENTS_CONTENT, agentsFile, API_KEY } from '../agents/agent.js';
import { freePort } from '../support/free-port.js';
import { bearer, signIn } from '../support/sign-in.js';
import { prepare, use, useService } from '../support/use.js';
import { until } from '../support/waiting.js';

const HTTP = { [oauth.allowInsecureRequests]: true }; // the addresses of a test are not https

/** Libraries for OAuth clients as programs of third parties, as they are (docs/agents.md). */
describe('stock clients as programs', () => {
  const api = prepare(async () => {
    const port = await freePort();
    return { port, resource: `http://127.0.0.1:${port}/orders` };
  });
  const { provider, service } = useService(() => {
    const [orders] = AGENTS_CONTENT.resources;
    const named = { ...orders, resource: api.resource, default_scopes: ['orders:read'] };
    return {
      PROVIDERS_MOCK_ENABLED: 'false',
      AGENTS_FILE: agentsFile({ ...AGENTS_CONTENT, resources: [named] }),
    };
  });
  const verifier = use(() =>
    createVerifier({ issuer: service.url, audience: api.resource, serviceKey: API_KEY }),
  );
  use(async () => {
    const app = express();
    app.use(protectedResource(verifier, { resource: api.resource, scopes: ['orders:read'] }));
    app.use(authenticate(verifier), requireScope('orders:read'));
    app.get('/orders', (_request, response) => void response.json('a book'));
    app.post('/orders', requireScope('orders:write'), (_request, response) => void response.json('ordered'));
    const server: Server = app.listen(api.port, '127.0.0.1');
    await once(server, 'listening');
    return server;
  });
  beforeAll(async () => {
    provider.signInAtOnce(() => 'ada');
    await until(() => verifier.isNotified);
  });

  /** Where the browser of a user who allows all is sent. */
  async function allow(url: URL, program: (typeof AGENTS)[keyof typeof AGENTS]): Promise<URL> {
    const browser = new Agent(service.url, program);
    const { headers } = await browser.answer(await browser.follow(await browser.get(url.href)), 'yes');
    return new URL(headers['location'] ?? headers['refresh']!.slice('0; url='.length));
  }
  async function endAll(): Promise<void> {
    const { access_token } = await signIn(service.url, 'ada');
    await bearer(service.url, access_token).post('/sign-out', { scope: 'all' }).expect(204);
  }

  it.each([
    ['no secret', AGENTS.web, client.None()],
    ['a secret in the body', AGENTS.secret, client.ClientSecretPost(AGENT_SECRET)],
    ['a secret in the header', AGENTS.secret, client.ClientSecretBasic(AGENT_SECRET)],
  ])('openid-client, with %s', async (_what, program, authentication) => {
    const config = await client.discovery(
      new URL(service.url),
      program.client_id,
      undefined,
      authentication,
      {
        algorithm: 'oauth2',
        execute: [client.allowInsecureRequests],
      },
    );
    const pkceCodeVerifier = client.randomPKCECodeVerifier();
    const expectedState = client.randomState();
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: program.redirect_uris[0]!,
      code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
      state: expectedState,
      resource: `${api.resource}/`, // as libraries write addresses
      scope: 'orders:read offline_access',
    });
    const resource = { resource: `${api.resource}/` };
    const back = await allow(url, program);
    const checks = { pkceCodeVerifier, expectedState };
    const tokens = await client.authorizationCodeGrant(config, back, checks, resource);
    expect(tokens).toMatchObject({ token_type: 'bearer', scope: 'orders:read' });
    const refresh = () => client.refreshTokenGrant(config, tokens.refresh_token!, resource);
    const { access_token, refresh_token } = await refresh();
    expect(refresh_token).toBeUndefined(); // the client keeps the one that it has (RFC 6749 §6)
    const call = () => client.fetchProtectedResource(config, access_token, new URL(api.resource), 'GET');
    expect(await (await call()).json()).toBe('a book');

    await endAll();
    await expect(refresh()).rejects.toMatchObject({ error: 'invalid_grant', status: 401 });
    await until(() =>
      call().then(
        () => false,
        ({ status }: { status: number }) => status === 401,
      ),
    );
  });

  it('oauth4webapi, which knows the API alone, and asks for more by the scope of a 403', async () => {
    const identifier = new URL(api.resource);
    const found = await oauth.resourceDiscoveryRequest(identifier, HTTP);
    const { authorization_servers } = await oauth.processResourceDiscoveryResponse(identifier, found);
    const issuer = new URL(authorization_servers![0]!);
    const metadata = await oauth.discoveryRequest(issuer, { ...HTTP, algorithm: 'oauth2' });
    const server = await oauth.processDiscoveryResponse(issuer, metadata);
    const program = { client_id: AGENTS.web.client_id };
    const redirectUri = AGENTS.web.redirect_uris[0]!;

    const authorize = async (scope?: string): Promise<oauth.TokenEndpointResponse> => {
      const codeVerifier = oauth.generateRandomCodeVerifier();
      const state = oauth.generateRandomState();
      const url = new URL(server.authorization_endpoint!);
      url.search = new URLSearchParams({
        ...program,
        response_type: 'code',
        redirect_uri: redirectUri,
        code_challenge: await oauth.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
        state,
        resource: api.resource,
        ...(scope !== undefined && { scope }),
      }).toString();
      const parameters = oauth.validateAuthResponse(server, program, await allow(url, AGENTS.web), state);
      const answer = await oauth.authorizationCodeGrantRequest(
        server,
        program,
        oauth.None(),
        parameters,
        redirectUri,
        codeVerifier,
        HTTP,
      );
      return oauth.processAuthorizationCodeResponse(server, program, answer);
    };
    const call = (token: string, method = 'POST') =>
      oauth.protectedResourceRequest(token, method, identifier, undefined, null, HTTP);

    const first = await authorize();
    expect(first.scope).toBe('orders:read');
    const refused = (await call(first.access_token).catch(
      (error: unknown) => error,
    )) as oauth.WWWAuthenticateChallengeError;
    const [{ parameters }] = refused.cause as [oauth.WWWAuthenticateChallenge];
    expect([refused.status, parameters.error]).toEqual([403, 'insufficient_scope']);
    const second = await authorize(parameters.scope);
    expect(second.scope).toBe('orders:read orders:write');
    expect(await (await call(second.access_token)).json()).toBe('ordered');

    await endAll();
    await until(() =>
      call(second.access_token).then(
        () => false,
        ({ status }: { status: number }) => status === 401,
      ),
    );
    const refreshed = await oauth.refreshTokenGrantRequest(
      server,
      program,
      oauth.None(),
      second.refresh_token!,
      HTTP,
    );
    await expect(oauth.processRefreshTokenResponse(server, program, refreshed)).rejects.toMatchObject({
      error: 'invalid_grant',
    });
  });
});

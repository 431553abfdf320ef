import * as oauth from 'oauth4webapi';
import * as client from 'openid-client';
import { claimsOf } from '../support/sign-in.js';
import { useService } from '../support/use.js';
import { Agent, AGENT_SECRET, AGENTS, agentsFile, API, API_KEY } from './agent.js';

const HTTP = { [oauth.allowInsecureRequests]: true }; // the address of a test is not https

/** Libraries for OAuth clients as programs of AGENTS_FILE, as they are. */
describe('a program with a library', () => {
  const { provider, service } = useService(() => ({
    PROVIDERS_MOCK_ENABLED: 'false',
    AGENTS_FILE: agentsFile(),
  }));
  beforeAll(() => provider.signInAtOnce(() => 'ada'));

  /** Follows the address, and allows the program. @returns the address of its callback */
  async function allow(url: URL, program: (typeof AGENTS)['web']): Promise<URL> {
    const browser = new Agent(service.url, program);
    const page = await browser.follow(await browser.get(url.href));
    const { headers } = await browser.answer(page, 'yes');
    return new URL(headers['location'] ?? headers['refresh']!.slice('0; url='.length));
  }

  it.each([
    ['without a secret', AGENTS.web, client.None()],
    ['with its secret in the header', AGENTS.secret, client.ClientSecretBasic(AGENT_SECRET)],
    ['with its secret in the body', AGENTS.secret, client.ClientSecretPost(AGENT_SECRET)],
  ])('openid-client, %s', async (_how, program, authentication) => {
    const discover = (id: string, how: client.ClientAuth): Promise<client.Configuration> =>
      client.discovery(new URL(service.url), id, undefined, how, {
        algorithm: 'oauth2',
        execute: [client.allowInsecureRequests],
      });
    const config = await discover(program.client_id, authentication);
    const pkceCodeVerifier = client.randomPKCECodeVerifier();
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: program.redirect_uris[0]!,
      code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
      resource: `${API}/`,
      scope: 'orders:read offline_access',
    });
    const back = await allow(url, program);
    const tokens = await client.authorizationCodeGrant(config, back, { pkceCodeVerifier });
    expect(tokens).toMatchObject({ scope: 'orders:read', refresh_token: expect.stringMatching(/^lka_/) });
    const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token!, { resource: API });
    expect(claimsOf(refreshed.access_token)).toMatchObject({ aud: API, client_id: program.client_id });

    const api = await discover('an api', client.ClientSecretBasic(API_KEY));
    const asked = await client.tokenIntrospection(api, refreshed.access_token);
    expect(asked).toMatchObject({ active: true, scope: 'orders:read', client_id: program.client_id });
    await client.tokenRevocation(config, tokens.refresh_token!);
    const again = client.refreshTokenGrant(config, tokens.refresh_token!);
    await expect(again).rejects.toMatchObject({ error: 'invalid_grant' });
    expect((await client.tokenIntrospection(api, refreshed.access_token)).active).toBe(false);
  });

  it('oauth4webapi, whose session is bound to a key (DPoP)', async () => {
    const issuer = new URL(service.url);
    const discovered = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...HTTP });
    const server = await oauth.processDiscoveryResponse(issuer, discovered);
    const app: oauth.Client = { client_id: AGENTS.web.client_id };
    const redirect = AGENTS.web.redirect_uris[0]!;
    const verifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    const url = new URL(server.authorization_endpoint!);
    url.search = new URLSearchParams({
      response_type: 'code',
      client_id: app.client_id,
      redirect_uri: redirect,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      resource: API,
      state,
    }).toString();
    const parameters = oauth.validateAuthResponse(server, app, await allow(url, AGENTS.web), state);
    const DPoP = oauth.DPoP(app, await oauth.generateKeyPair('ES256'));
    const none = oauth.None();
    const redeemed = await oauth.processAuthorizationCodeResponse(
      server,
      app,
      await oauth.authorizationCodeGrantRequest(server, app, none, parameters, redirect, verifier, {
        DPoP,
        ...HTTP,
      }),
    );
    const refresh = (proof: object): Promise<Response> =>
      oauth.refreshTokenGrantRequest(server, app, none, redeemed.refresh_token!, { ...proof, ...HTTP });
    const refreshed = await oauth.processRefreshTokenResponse(server, app, await refresh({ DPoP }));
    expect(claimsOf(refreshed.access_token)).toMatchObject({ aud: API, client_id: app.client_id });
    expect(await (await refresh({})).json()).toMatchObject({ error: 'invalid_dpop_proof' });
  });
});

import request from 'supertest';
import { startTestService } from '../support/service.js';
import { providersEnv } from '../support/stub-provider.js';
import { use } from '../support/use.js';

const ORIGIN = 'https://app.example';

/** Metadata and providers for clients (docs/stock-clients.md#metadata). */
describe('discovery', () => {
  const providers = {
    own: { url: 'https://idp.example' },
    corp: { url: 'https://corp.example', adapter: 'oidc' },
    framed: { url: 'https://corp.example', adapter: 'oidc', mode: 'iframe', label: 'Corp <b>"ä"</b>' },
    whole: { url: 'https://idp.example', mode: 'redirect' },
    code: { adapter: 'github' },
    chat: { adapter: 'discord', label: 'Our chat' },
    web: { adapter: 'google' },
    off: { url: 'https://idp.example', enabled: 'false' },
  };
  const service = use(() => startTestService({ ...providersEnv(providers), CORS_ORIGINS: ORIGIN }));

  it('tells what the service is, and nothing that it is not (RFC 8414)', async () => {
    const { body } = await request(service.url).get('/.well-known/oauth-authorization-server').expect(200);
    const { url } = service;
    expect(body).toEqual({
      issuer: url,
      authorization_endpoint: `${url}/oauth2/authorize`,
      token_endpoint: `${url}/oauth2/token`,
      jwks_uri: `${url}/.well-known/jwks.json`,
      revocation_endpoint: `${url}/oauth2/revoke`,
      revocation_endpoint_auth_methods_supported: ['none'],
      introspection_endpoint: `${url}/oauth2/introspect`,
      introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'Bearer'],
      service_documentation: `${url}/docs`,
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      authorization_response_iss_parameter_supported: true,
      dpop_signing_alg_values_supported: ['ES256'],
    });
    const { body: openId } = await request(service.url).get('/.well-known/openid-configuration').expect(200);
    expect(openId).toEqual({
      ...body,
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
    });
  });

  it('has what AppAuth and OpenID Connect Discovery require', async () => {
    const { body } = await request(service.url).get('/.well-known/openid-configuration').expect(200);
    const required = [
      'issuer',
      'authorization_endpoint',
      'token_endpoint',
      'jwks_uri',
      'response_types_supported',
      'subject_types_supported',
      'id_token_signing_alg_values_supported',
    ];
    expect(Object.keys(body as object)).toEqual(expect.arrayContaining(required));
  });

  it('names no address that does not exist', async () => {
    const { body } = await request(service.url).get('/.well-known/oauth-authorization-server');
    const addresses = Object.entries(body as Record<string, string>).filter(([name]) =>
      /_(endpoint|uri|documentation)$/.test(name),
    );
    expect(addresses.map(([name]) => name)).toHaveLength(6);
    for (const [, address] of addresses) expect((await request(address).options('')).status).toBe(204);
  });

  it('lists the enabled providers, with what a sign-in button needs', async () => {
    const { body } = await request(service.url).get('/oauth2/providers').expect(200);
    expect(body).toEqual({
      providers: [
        { name: 'mock', mode: 'iframe', label: 'Sample provider' },
        { name: 'own', mode: 'iframe', label: 'own' },
        { name: 'corp', mode: 'popup', label: 'corp' },
        { name: 'framed', mode: 'iframe', label: 'Corp <b>"ä"</b>' },
        { name: 'whole', mode: 'redirect', label: 'whole' },
        { name: 'code', mode: 'popup', label: 'GitHub' },
        { name: 'chat', mode: 'popup', label: 'Our chat' },
        { name: 'web', mode: 'popup', label: 'Google' },
      ],
    });
  });

  it('people read the labels where they choose', async () => {
    const { text } = await request(service.url)
      .get('/oauth2/authorize')
      .query({
        response_type: 'code',
        client_id: 'an app',
        redirect_uri: 'https://app.example/callback',
        code_challenge: 'c'.repeat(43),
        code_challenge_method: 'S256',
      })
      .expect(200);
    expect(Array.from(text.matchAll(/<a [^>]*>.*?<span>(.*?)<\/span><\/a>/gs), ([, label]) => label)).toEqual(
      [
        'Sample provider',
        'own',
        'corp',
        'Corp &lt;b&gt;&quot;ä&quot;&lt;/b&gt;',
        'whole',
        'GitHub',
        'Our chat',
        'Google',
      ],
    );
  });

  it.each([
    '/oauth2/providers',
    '/.well-known/oauth-authorization-server',
    '/.well-known/openid-configuration',
  ])('%s may be cached, and read by pages of the listed origins', async (path) => {
    const { headers } = await request(service.url).get(path).set('Origin', ORIGIN).expect(200);
    expect(headers).toMatchObject({
      'cache-control': 'public, max-age=300',
      'content-type': 'application/json; charset=utf-8',
      'access-control-allow-origin': ORIGIN,
      vary: 'Origin',
    });
    const other = await request(service.url).get(path).set('Origin', 'https://elsewhere.example').expect(200);
    expect(other.headers).not.toHaveProperty('access-control-allow-origin');
  });
});

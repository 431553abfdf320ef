import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { loadProviders } from '../../src/provider/provider.registry.js';
import { makeLogoutToken } from '../support/forged-tokens.js';
import { OidcIssuer, Person, TamperingProxy, type Tamper } from '../support/oidc-issuer.js';
import { startTestService } from '../support/service.js';
import { authorization, bearer, claimsOf, type Tokens } from '../support/sign-in.js';
import { providersEnv } from '../support/stub-provider.js';
import { use } from '../support/use.js';

const NAME = 'https://sso.example/r';
const REDIRECT_URI = 'https://app.example/cb?a=1';
const SERVICE = ['token_endpoint', 'userinfo_endpoint', 'jwks_uri', 'pushed_authorization_request_endpoint'];

/** A provider with a public name that only browsers reach (docs/providers.md#a-public-name-and-an-inner-address). */
describe('a provider with a public name and an inner address', () => {
  const proxies: Record<string, TamperingProxy> = {};

  /** The document announces addresses of a host instead of those by which it was asked. */
  const announcing =
    (from: TamperingProxy, to: string, names?: readonly string[]): Tamper =>
    (path, document) => {
      if (!path.startsWith('/.well-known/')) return undefined;
      const members = Object.entries(document).map(([name, value]) => {
        const isMoved = typeof value === 'string' && (names?.includes(name) ?? true);
        return [name, isMoved ? value.replace(from.url, to) : value];
      });
      return Object.fromEntries(members) as Record<string, unknown>;
    };
  const issuer = use(() => OidcIssuer.start(NAME));
  beforeAll(async () => {
    issuer.restart({ claimsInIdToken: false }); // so that the userinfo endpoint is asked, too
    for (const name of ['inner', 'outer', 'split', 'insecure', 'nameless', 'other']) {
      const proxy = await TamperingProxy.start();
      proxies[name] = proxy;
      proxy.target = issuer.port;
    }
    // What a document says is kept for an hour.
    proxies['outer']!.tamper = announcing(proxies['outer']!, NAME);
    proxies['split']!.tamper = announcing(proxies['split']!, NAME, ['authorization_endpoint']);
    proxies['insecure']!.tamper = announcing(proxies['insecure']!, 'http://sso.example', SERVICE);
  });
  const service = use(() => {
    const issuers: Record<string, object> = {
      split: { issuer: `${NAME}/` },
      nameless: {},
      other: { issuer: 'https://other.example' },
    };
    const providers = Object.entries(proxies).map(([name, { url }]) => {
      const keys = { adapter: 'oidc', url, client_secret: 'a client secret of the issuer' };
      return [name, { ...keys, ...(issuers[name] ?? { issuer: NAME }) }];
    });
    const env = providersEnv(Object.fromEntries(providers) as Parameters<typeof providersEnv>[0]);
    return startTestService({ ...env, REDIRECT_URIS: REDIRECT_URI });
  });
  afterAll(() => Promise.all(Object.values(proxies).map((proxy) => proxy.close())));

  /** What a browser gets, for which the public name leads to the provider. */
  async function callbackOf(provider: string): Promise<Record<string, string>> {
    const { redirect_url } = await authorization(service.url, { provider });
    expect(redirect_url.slice(0, NAME.length + 1)).toBe(`${NAME}/`);
    const callback = await new Person('ada').authorize(redirect_url.replace(NAME, proxies[provider]!.url));
    return { ...Object.fromEntries(callback.searchParams), device_id: randomUUID() };
  }

  const redeem = (callback: object) => request(service.url).post('/oauth2/token').send(callback);

  const status = async ({ access_token }: Tokens): Promise<number> =>
    (await bearer(service.url, access_token).get('/me')).status;

  it.each([
    ['inner', 'all inner addresses (node-oidc-provider)'],
    ['outer', 'all public addresses (Keycloak)'],
    ['split', 'the public page, and inner addresses for the service (backchannel dynamic)'],
  ])('%s: announces %s; sign-in and logout tokens work', async (provider) => {
    const proxy = proxies[provider]!;
    const callback = await callbackOf(provider);
    expect(callback['iss']).toBe(NAME);
    const tokens = (await redeem(callback).expect(200)).body as Tokens;
    expect([proxy.count('/token'), proxy.count('/me')]).toEqual([1, 1]);
    expect(await status(tokens)).toBe(200);
    const { sub, iss } = claimsOf((proxy.tokens.at(-1) as { id_token: string }).id_token);
    expect(iss).toBe(NAME);
    const logout = (from: string) =>
      request(service.url)
        .post(`/providers/${provider}/backchannel-logout`)
        .type('form')
        .send({ logout_token: makeLogoutToken(issuer.key, { iss: from, sub }) });
    await logout(proxy.url).expect(400); // the address is no name
    expect(await status(tokens)).toBe(200);
    await logout(NAME).expect(200);
    expect(await status(tokens)).toBe(401);
  });

  it('refuses a callback that names the address (RFC 9207)', async () => {
    const asked = proxies['inner']!.count('/token');
    await redeem({ ...(await callbackOf('inner')), iss: proxies['inner']!.url }).expect(401);
    expect(proxies['inner']!.count('/token')).toBe(asked);
  });

  it.each([
    ['inner', []],
    ['insecure', ['lacks a usable address (token_endpoint, jwks_uri)']], // the secret would go there
    ['nameless', [`url to ${NAME}, or providers.nameless.issuer to it if url is an inner address`]],
    ['other', [`set providers.other.issuer to ${NAME}`]],
  ])('%s: the check at the start finds %j', async (name, expected) => {
    const { registry, close } = await loadProviders(service.settings);
    const lines: string[] = [];
    await registry
      .get(name)
      .check((line) => lines.push(line))
      .finally(() => void close());
    expect(lines).toEqual(expected.map((text) => expect.stringContaining(text) as unknown));
  });
});

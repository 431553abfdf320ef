import request from 'supertest';
import { ContractAdapter } from '../../src/provider/adapters/contract.adapter.js';
import { ProviderRegistry } from '../../src/provider/provider.registry.js';
import { ProviderHttp } from '../../src/provider/transport/provider-http.js';
import { startTestService } from '../support/service.js';
import { authorization } from '../support/sign-in.js';
import { speakOpenId } from '../support/openid-stub.js';
import { answerWith, RawProvider } from '../support/raw-provider.js';
import { providersEnv, StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';

const VARIABLES = ['http_proxy', 'https_proxy', 'all_proxy'].flatMap((name) => [name, name.toUpperCase()]);

/**
 * The operator of a company's proxy can read what passes in plaintext, so secrets and codes for a provider on this
 * machine must not pass (issue 9, 15). The environment names a proxy for everything; it counts the requests that it gets.
 * Other spellings of this machine: test/provider/provider-connections.spec.ts.
 */
describe('a proxy in the environment', () => {
  let nonces: Map<string, string>;
  afterAll(() => {
    for (const name of VARIABLES) delete process.env[name];
  });

  const provider = use(() => StubProvider.start());
  const proxy = use(() => RawProvider.start());
  beforeAll(() => {
    nonces = speakOpenId(provider);
    proxy.answer = answerWith('HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n', true);
    for (const name of VARIABLES) process.env[name] = proxy.url;
  });
  const service = use(() => {
    const { url } = provider;
    const addresses = {
      authorize_url: `${url}/authorize`,
      token_url: `${url}/token`,
      userinfo_url: `${url}/me`,
    };
    const providers = {
      contract: { url },
      oauth2: { adapter: 'oauth2', ...addresses },
      oidc: { adapter: 'oidc', url },
      tls: { url: url.replace('http:', 'https:') },
      far: { url: 'http://idp.invalid' },
    };
    return startTestService(providersEnv(providers));
  });

  async function signIn(name: string): Promise<number> {
    const { redirect_url, state } = await authorization(service.url, { provider: name });
    const code = `code-of-${name}`;
    nonces.set(code, new URL(redirect_url).searchParams.get('nonce') ?? '');
    return (await request(service.url).post('/oauth2/token').send({ code, state })).status;
  }

  it('is not used for a provider on this machine, by any adapter', async () => {
    for (const name of ['contract', 'oauth2', 'oidc'])
      expect([name, await signIn(name)]).toEqual([name, 200]);
    const paths = [...new Set(provider.requests.map(({ path }) => path))].toSorted();
    const document = '/.well-known/openid-configuration';
    expect(paths).toEqual([document, '/jwks', '/me', '/oauth2/token/exchange', '/token']);
    expect(await signIn('tls')).toBe(500);
    expect(proxy.sockets).toEqual([]);
  });

  it('is not used for the sample provider, wherever the service listens', async () => {
    const { settings } = service.app.get(ProviderRegistry).get('mock');
    const own = { ...settings, internalUrl: 'http://own-address.invalid' };
    const signal = AbortSignal.timeout(5000);
    const asked = { code: 'c', state: 's', redirectUri: 'https://app.example/cb', signal };
    const adapter = new ContractAdapter(service.app.get(ProviderHttp));
    await expect(adapter.exchange(own, asked)).rejects.toThrow();
    expect(proxy.sockets).toEqual([]);
  });

  it('is used for a provider elsewhere, so it was reachable all the time', async () => {
    expect(await signIn('far')).toBe(500);
    expect(proxy.requests[0]).toMatch(/^POST http:\/\/idp\.invalid\/oauth2\/token\/exchange /);
  });
});

import { createServer, type Server, type AddressInfo } from 'node:net';
import request from 'supertest';
import { ContractAdapter } from '../../src/provider/adapters/contract.adapter.js';
import { ProviderRegistry } from '../../src/provider/provider.registry.js';
import { startTestService, type TestService } from '../support/service.js';
import { speakOpenId } from '../support/openid-stub.js';
import { StubProvider } from '../support/stub-provider.js';

const SECRET = 'a client secret that no proxy may see';
const VARIABLES = ['http_proxy', 'https_proxy', 'all_proxy'].flatMap((name) => [name, name.toUpperCase()]);

/** Spellings of 127.0.0.1, the address of the provider; and other loopback addresses. */
const HERE = ['127.0.0.1', 'localhost', '127.1', '0x7f.1', '2130706433', '0.0.0.0'];
const NEAR = ['127.0.0.2', '127.255.255.254', '[::1]', '[::ffff:127.0.0.1]', 'localhost.', 'app.localhost'];

/**
 * The operator of a company's proxy can read what passes in plaintext, so secrets and codes for a provider on this
 * machine must not pass (issue 9, 15). The environment names a proxy for everything; it counts the requests that it gets.
 */
describe('a proxy in the environment', () => {
  let nonces: Map<string, string>;
  let provider: StubProvider;
  let proxy: Server;
  let seen: string;
  let signIns = 0;
  let service: TestService;

  beforeAll(async () => {
    provider = await StubProvider.start();
    nonces = speakOpenId(provider);
    proxy = createServer((socket) => {
      socket.on('data', (bytes: Buffer) => {
        seen += bytes.toString('latin1');
        socket.end('HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n');
      });
      socket.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.address() as AddressInfo;
    for (const name of VARIABLES) process.env[name] = `http://127.0.0.1:${port}`;
    service = await startTestService(
      Object.fromEntries([...HERE, ...NEAR].flatMap((host, n) => [...providersAt(host, n)])),
    );
  });
  afterAll(async () => {
    for (const name of VARIABLES) delete process.env[name];
    await service?.close();
    await provider?.close();
    proxy?.close();
    process.stdout.write(
      `proxy: costs whoever runs it nothing; ${signIns} sign-ins at ${HERE.length + NEAR.length} spellings of this machine, 0 bytes of them there\n`,
    );
  });
  beforeEach(() => {
    seen = '';
    provider.requests.length = 0;
  });

  /** One provider for each adapter, at a host. */
  function* providersAt(host: string, n: number): Generator<[string, string]> {
    const port = new URL(provider.url).port;
    const base = `http://${host}:${port}`;
    const keys = {
      contract: { url: base },
      tls: { url: `https://${host}:${port}` },
      oauth2: {
        adapter: 'oauth2',
        authorize_url: `${base}/authorize`,
        token_url: `${base}/token`,
        userinfo_url: `${base}/me`,
      },
      oidc: { adapter: 'oidc', url: base },
    };
    for (const [adapter, own] of Object.entries(keys)) {
      const all = { ...own, client_id: 'latchkey', client_secret: SECRET };
      for (const [name, value] of Object.entries(all)) yield [`providers.${adapter}-${n}.${name}`, value];
    }
  }

  async function signIn(name: string): Promise<number> {
    const asked = await request(service.url).get('/oauth2/authorize').query({ provider: name });
    const { redirect_url, state } = asked.body as { redirect_url?: string; state: string };
    if (redirect_url === undefined) return asked.status; // the address has no listener, so there is no discovery document
    signIns++;
    const code = `code-of-${name}`;
    nonces.set(code, new URL(redirect_url).searchParams.get('nonce') ?? '');
    return (await request(service.url).post('/oauth2/token').send({ code, state })).status;
  }

  const paths = () => [...new Set(provider.requests.map(({ path }) => path))].toSorted();

  it.each(HERE.map((host, n) => [host, n] as const))('is not used for a provider at %s', async (_host, n) => {
    expect(await signIn(`contract-${n}`)).toBe(200);
    expect(await signIn(`oauth2-${n}`)).toBe(200);
    expect(await signIn(`oidc-${n}`)).toBe(200);
    expect(paths()).toEqual([
      '/.well-known/openid-configuration',
      '/jwks',
      '/me',
      '/oauth2/token/exchange',
      '/token',
    ]);
    expect(await signIn(`tls-${n}`)).toBe(500);
    expect(seen).toBe('');
  });

  it.each(NEAR.map((host, n) => [host, n + HERE.length] as const))(
    'is not used for a provider at %s, whether or not somebody listens',
    async (_host, n) => {
      for (const adapter of ['contract', 'oauth2', 'oidc', 'tls']) await signIn(`${adapter}-${n}`);
      expect(seen).toBe('');
    },
  );

  it('is not used for the sample provider, wherever the service listens', async () => {
    const own = {
      ...service.app.get(ProviderRegistry).get('mock').settings,
      internalUrl: 'http://own-address.invalid',
    };
    const asked = {
      code: 'c',
      state: 's',
      redirectUri: 'https://app.example/cb',
      signal: AbortSignal.timeout(5000),
    };
    await expect(service.app.get(ContractAdapter).exchange(own, asked)).rejects.toThrow();
    expect(seen).toBe('');
  });

  it('is used for a provider elsewhere, so it was reachable all the time', async () => {
    const other = await startTestService({
      PROVIDERS_FAR_URL: 'http://idp.invalid',
      PROVIDERS_FAR_CLIENT_ID: 'latchkey',
      PROVIDERS_FAR_CLIENT_SECRET: SECRET,
    });
    try {
      const { body } = await request(other.url)
        .get('/oauth2/authorize')
        .query({ provider: 'far' })
        .expect(200);
      await request(other.url)
        .post('/oauth2/token')
        .send({ code: 'c', state: (body as { state: string }).state });
      expect(seen).toMatch(/^POST http:\/\/idp\.invalid\/oauth2\/token\/exchange /);
    } finally {
      await other.close();
    }
  });
});

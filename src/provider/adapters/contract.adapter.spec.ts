import { createHash } from 'node:crypto';
import { providerSettings, StubProvider } from '../../../test/support/stub-provider.js';
import type { ProviderSettings } from '../../platform/config/settings/settings.js';
import type { ProviderIdentity } from '../provider-adapter.js';
import { ProviderHttp } from '../transport/provider-http.js';
import { ContractAdapter } from './contract.adapter.js';

const REDIRECT_URI = 'https://app.example/cb?a=1&b=ä';

/** Spec §4.5 as the provider sees it. */
describe('the adapter contract', () => {
  let stub: StubProvider;
  let http: ProviderHttp;
  let adapter: ContractAdapter;
  beforeAll(async () => {
    stub = await StubProvider.start();
    http = new ProviderHttp();
    adapter = new ContractAdapter(http);
  });
  afterAll(async () => {
    await http?.onApplicationShutdown();
    await stub?.close();
  });
  beforeEach(() => stub.reset());

  const settings = (more: Partial<ProviderSettings> = {}): ProviderSettings =>
    providerSettings('corp', { url: stub.url, clientId: 'an app', clientSecret: 's3cret', ...more });
  const exchange = (more?: Partial<ProviderSettings>): Promise<ProviderIdentity> =>
    adapter.exchange(settings(more), {
      code: 'a+code',
      state: 's',
      redirectUri: REDIRECT_URI,
      signal: new AbortController().signal,
    });

  it('sends the browser to the fixed path with three parameters (spec §4.5.1)', () => {
    const url = adapter.authorizationUrl(settings({ url: 'https://id.example/base' }), {
      state: 's',
      redirectUri: REDIRECT_URI,
    }) as URL;
    expect(url.href.split('?')[0]).toBe('https://id.example/base/oauth2/authorize');
    expect([...url.searchParams]).toEqual([
      ['state', 's'],
      ['client_id', 'an app'],
      ['redirect_uri', REDIRECT_URI],
    ]);
  });

  it('with pkce on binds the code to the sign-in, beside the same parameters and fields (RFC 7636)', async () => {
    const options = { pkce: 'on' };
    const request = { state: 's', redirectUri: REDIRECT_URI };
    const { url, memory } = adapter.authorizationUrl(settings({ options }), request) as {
      url: URL;
      memory: { codeVerifier: string };
    };
    const code_challenge = createHash('sha256').update(memory.codeVerifier).digest('base64url');
    expect([...url.searchParams]).toEqual([
      ['state', 's'],
      ['client_id', 'an app'],
      ['redirect_uri', REDIRECT_URI],
      ['code_challenge', code_challenge],
      ['code_challenge_method', 'S256'],
    ]);
    const signal = new AbortController().signal;
    await adapter.exchange(settings({ options }), { ...request, code: 'c', memory, signal });
    expect([...new URLSearchParams(stub.requests[0]?.body)].at(-1)).toEqual([
      'code_verifier',
      memory.codeVerifier,
    ]);
    await expect(adapter.exchange(settings({ options }), { ...request, code: 'c', signal })).rejects.toThrow(
      'the sign-in was begun with another adapter or setting',
    );
    expect(stub.requests).toHaveLength(1);
  });

  it('calls the built-in provider at its own address, where browsers reach another', async () => {
    await exchange({ url: 'https://public.example', internalUrl: stub.url });
    expect(stub.requests.map(({ path }) => path)).toEqual(['/oauth2/token/exchange']);
  });
});

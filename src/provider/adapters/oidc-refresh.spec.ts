import { OpenIdStub, type Said } from '../../../test/support/openid-stub.js';
import { withPreset } from '../../platform/config/providers/presets.js';
import type { ProviderSettings } from '../../platform/config/settings/settings.js';
import type { ProviderIdentity } from '../provider-adapter.js';
import { ProviderHttp } from '../transport/provider-http.js';
import { OidcAdapter } from './oidc.adapter.js';

const ALL = { name: 'Ada', email: 'ada@corp.example', picture: 'https://img.example/ada' };
const MEMORY = { codeVerifier: 'v'.repeat(43), nonce: 'n' };

/** Refresh tokens and answers to them, as products document them. */
describe('the adapter oidc with offline', () => {
  let stub: OpenIdStub;
  let http: ProviderHttp;
  let adapter: OidcAdapter;
  let rotated: string[];
  beforeAll(async () => {
    stub = await OpenIdStub.start();
  });
  afterAll(() => stub?.close());
  beforeEach(() => {
    stub.reset();
    rotated = [];
    http = new ProviderHttp();
    adapter = new OidcAdapter(http);
  });
  afterEach(() => http.onApplicationShutdown());

  const settings = (product: string, more: Partial<ProviderSettings> = {}): ProviderSettings =>
    withPreset(stub.settings({ adapter: product, offline: true, ...more }));
  const signal = new AbortController().signal;

  const parametersOf = async (
    provider: ProviderSettings,
    params: Record<string, string> = {},
  ): Promise<Record<string, string | null>> => {
    const request = { state: 's', redirectUri: 'https://app.example/cb', params };
    const { url } = (await adapter.authorizationUrl(provider, request)) as { url: URL };
    const names = ['scope', 'access_type', 'prompt'];
    return Object.fromEntries(
      names.map((name) => [name, url.searchParams.get(name)]).filter(([, value]) => value !== null),
    ) as Record<string, string>;
  };
  const usual = 'openid profile email';
  const offline = `${usual} offline_access`;

  it.each<[product: string, supported: string[] | undefined, expected: object]>([
    ['google', ['openid', 'email', 'profile'], { scope: usual, access_type: 'offline', prompt: 'consent' }],
    ['keycloak', ['openid', 'offline_access'], { scope: usual }],
    ['microsoft', ['openid', 'profile', 'email', 'offline_access'], { scope: offline }],
    ['okta', ['openid', 'offline_access'], { scope: offline }],
    ['auth0', ['openid', 'offline_access'], { scope: offline }],
    ['gitlab', ['openid', 'profile', 'email'], { scope: usual }],
    ['oidc', undefined, { scope: offline }],
  ])('%s (scopes %j) is asked for a refresh token by %j', async (product, supported, expected) => {
    stub.metadata = { scopes_supported: supported };
    expect(await parametersOf(settings(product))).toEqual(expected);
    expect(await parametersOf(settings(product, { offline: undefined }))).toEqual({ scope: usual });
  });

  it('keeps a scope that has it, and adds the consent to what a client asks of Google', async () => {
    const options = { scope: 'offline_access openid' };
    expect(await parametersOf(settings('oidc', { options }))).toEqual(options);
    const prompts = ['select_account', 'none', 'consent', 'login consent'];
    const sent = prompts.map(
      async (prompt) => (await parametersOf(settings('google'), { prompt }))['prompt'],
    );
    expect(await Promise.all(sent)).toEqual(['select_account consent', 'none', 'consent', 'login consent']);
    const fixed = { options: { authorize_params: 'prompt=select_account' } };
    expect(await parametersOf(settings('google', fixed))).toMatchObject({ prompt: 'select_account' });
  });

  it('returns the refresh token of a sign-in, and when the session at the provider ends', async () => {
    stub.claims = { ...ALL, session_expiry: 1_900_000_000 };
    stub.token = { refresh_token: 'r1' };
    const request = { code: 'c', state: 's', redirectUri: 'https://app.example/cb', memory: MEMORY, signal };
    const both = { refresh_token: 'r1', session_expiry: 1_900_000_000 };
    expect(await adapter.exchange(settings('okta'), request)).toMatchObject(both);
    const without = await adapter.exchange(settings('okta', { offline: undefined }), request);
    expect(without.refresh_token).toBeUndefined();
    expect(without.session_expiry).toBe(1_900_000_000);
  });

  const refresh = (product: string): Promise<ProviderIdentity> =>
    adapter.refresh(settings(product), {
      refreshToken: 'r1',
      rotated: (token) => rotated.push(token),
      signal,
    });

  it.each<[product: string, answer: Record<string, unknown>, rotated: string[]]>([
    ['google', { expires_in: 3599, scope: 'openid' }, []],
    ['microsoft', { refresh_token: 'r2', ext_expires_in: 3599 }, ['r2']],
    ['okta', { refresh_token: 'r2', expires_in: 3600 }, ['r2']],
    ['okta', { refresh_token: 'r1', expires_in: 3600 }, []],
  ])('asks %s again: %j', async (product, answer, tokens) => {
    stub.claims = { ...ALL, nonce: undefined, tid: 't' };
    stub.token = answer;
    expect(await refresh(product)).toMatchObject({
      provider_user_id: 'ada',
      username: 'Ada',
      subject: 'ada',
    });
    expect(rotated).toEqual(tokens);
    const { body } = stub.requests.find(({ path }) => path === '/token')!;
    expect(new URLSearchParams(body).get('refresh_token')).toBe('r1');
  });

  it.each([null, '', 7, {}, ['r2']])('has no new refresh token in %j', async (odd) => {
    stub.token = { refresh_token: odd, expires_in: odd, token_type: odd };
    await refresh('oidc');
    expect(rotated).toEqual([]);
  });

  it('keeps a new refresh token although the ID token is refused', async () => {
    stub.token = { refresh_token: 'r2' };
    stub.claims = { aud: 'another' };
    await expect(refresh('oidc')).rejects.toThrow('aud');
    expect(rotated).toEqual(['r2']);
  });

  it('asks the userinfo endpoint if there is no ID token', async () => {
    stub.token = { id_token: undefined };
    stub.user = { sub: 'grace', ...ALL };
    expect(await refresh('oidc')).toMatchObject({ provider_user_id: 'grace', subject: 'grace' });
    stub.metadata = { userinfo_endpoint: undefined };
    adapter = new OidcAdapter(http);
    await expect(refresh('oidc')).rejects.toThrow('no ID token');
  });

  const json = (status: number, body: object): Said => [status, JSON.stringify(body)];
  it.each<[case_: string, product: string, said: Said, error: string | undefined]>([
    [
      'Google: revoked, or the account is disabled',
      'google',
      json(400, { error: 'invalid_grant', error_description: 'Token has been expired or revoked.' }),
      'invalid_grant',
    ],
    [
      'Entra ID: disabled',
      'microsoft',
      json(400, {
        error: 'invalid_grant',
        error_description: 'AADSTS50057: The user account is disabled.',
        error_codes: [50057],
      }),
      'invalid_grant',
    ],
    [
      'Entra ID: the user must do more',
      'microsoft',
      json(400, { error: 'interaction_required', suberror: 'basic_action', error_codes: [50076] }),
      'invalid_grant',
    ],
    [
      'Okta: revoked',
      'okta',
      json(400, {
        error: 'invalid_grant',
        error_description: 'The refresh token is invalid or expired.',
      }),
      'invalid_grant',
    ],
    ['Okta: too many requests', 'okta', json(429, { errorCode: 'E0000047' }), undefined],
    ['Google: away', 'google', [503, '<html>'], undefined],
    [
      'Entra ID: away',
      'microsoft',
      json(503, { error: 'temporarily_unavailable' }),
      'temporarily_unavailable',
    ],
    ['a redirect', 'okta', [302, '', { Location: 'https://elsewhere.example' }], undefined],
    ['64 KiB and more', 'okta', [200, `{"a":"${'x'.repeat(70_000)}"}`], undefined],
  ])('%s', async (_case, product, said, error) => {
    stub.said = { '/token': said };
    const failure = await refresh(product).catch((thrown: unknown) => thrown as Error & { error?: unknown });
    expect(failure).toBeInstanceOf(Error);
    expect((failure as { error?: unknown }).error).toBe(error);
  });
});

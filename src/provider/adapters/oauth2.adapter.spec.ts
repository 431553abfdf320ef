import { createHash } from 'node:crypto';
import { providerSettings, StubProvider } from '../../../test/support/stub-provider.js';
import type { ProviderSettings } from '../../platform/config/settings/settings.js';
import type { AdapterMemory, ProviderIdentity } from '../provider-adapter.js';
import { ProviderHttp } from '../transport/provider-http.js';
import { OAuth2Adapter } from './oauth2.adapter.js';

const REDIRECT_URI = 'https://app.example/cb?a=1';

/** A provider of plain OAuth 2.0 without a service around it. */
describe('the adapter oauth2', () => {
  let stub: StubProvider;
  let http: ProviderHttp;
  let adapter: OAuth2Adapter;
  beforeAll(async () => {
    stub = await StubProvider.start();
    http = new ProviderHttp();
    adapter = new OAuth2Adapter(http);
  });
  afterAll(async () => {
    await http?.onApplicationShutdown();
    await stub?.close();
  });

  /** What the token URL and the userinfo URL answer: status and body. */
  let token: [number, unknown];
  let user: [number, unknown];
  beforeEach(() => {
    token = [200, { access_token: 't0ken', token_type: 'bearer' }];
    user = [200, { id: 7, login: 'ada' }];
    stub.reset();
    stub.answer = ({ path }, response) => {
      const [status, body] = path === '/token' ? token : user;
      response.writeHead(status).end(JSON.stringify(body));
    };
  });

  function settings(options: Record<string, string> = {}): ProviderSettings {
    return providerSettings('hub', {
      clientId: 'an app',
      clientSecret: 's3cret/+',
      options: {
        authorize_url: `${stub.url}/authorize?prompt=login&state=theirs`,
        token_url: `${stub.url}/token`,
        userinfo_url: `${stub.url}/me?fields=all`,
        claim_user_id: 'id',
        claim_username: 'login',
        ...options,
      },
    });
  }

  const begin = (
    options?: Record<string, string>,
  ): { parameters: Record<string, string>; memory: AdapterMemory; page: string } => {
    const answer = adapter.authorizationUrl(settings(options), {
      state: 's',
      redirectUri: REDIRECT_URI,
    });
    const { url, memory } = answer as { url: URL; memory: AdapterMemory };
    return {
      parameters: Object.fromEntries(url.searchParams),
      memory,
      page: `${url.origin}${url.pathname}`,
    };
  };

  const exchange = (
    options?: Record<string, string>,
    memory: AdapterMemory | undefined = { codeVerifier: 'v' },
    signal = new AbortController().signal,
  ): Promise<ProviderIdentity> =>
    adapter.exchange(settings(options), {
      code: 'a+code',
      state: 's',
      redirectUri: REDIRECT_URI,
      signal,
      ...(memory && { memory }),
    });

  describe('its authorization page', () => {
    it('is asked as RFC 6749 §4.1.1 and RFC 7636 §4.3 say, beside what the setting has', () => {
      const { parameters, memory, page } = begin();
      expect(page).toBe(`${stub.url}/authorize`);
      expect(memory).toEqual({ codeVerifier: expect.stringMatching(/^[\w~.-]{43,128}$/) });
      expect(parameters).toEqual({
        prompt: 'login',
        response_type: 'code',
        client_id: 'an app',
        redirect_uri: REDIRECT_URI,
        state: 's',
        code_challenge: createHash('sha256')
          .update(memory['codeVerifier'] as string)
          .digest('base64url'),
        code_challenge_method: 'S256',
      });
    });
  });

  it('sends no challenge and no verifier with pkce off', async () => {
    const url = adapter.authorizationUrl(settings({ pkce: 'off' }), {
      state: 's',
      redirectUri: REDIRECT_URI,
    });
    expect(url).toBeInstanceOf(URL);
    expect((url as URL).search).not.toContain('code_challenge');
    const signal = new AbortController().signal;
    const request = { code: 'c', state: 's', redirectUri: REDIRECT_URI, signal };
    await adapter.exchange(settings({ pkce: 'off' }), request);
    expect(stub.requests[0]?.body).not.toContain('code_verifier');
    await adapter.exchange(settings({ pkce: 'off' }), { ...request, memory: { codeVerifier: 'begun-with' } });
    expect(stub.requests[2]?.body).toContain('code_verifier=begun-with');
  });

  it('redeems the code in a form, and asks with the token who it is', async () => {
    expect(await exchange()).toEqual({ provider_user_id: '7', username: 'ada' });
    const seen = stub.requests.map(({ method, path, rawHeaders, body }) => {
      const headers = Object.fromEntries(
        rawHeaders.flatMap((name, i) => (i % 2 ? [] : [[name.toLowerCase(), rawHeaders[i + 1]!]])),
      ) as Record<string, string>;
      return { method, path, body: Object.fromEntries(new URLSearchParams(body)), headers };
    });
    expect(seen).toMatchObject([
      {
        method: 'POST',
        path: '/token',
        body: {
          grant_type: 'authorization_code',
          code: 'a+code',
          redirect_uri: REDIRECT_URI,
          code_verifier: 'v',
          client_id: 'an app',
          client_secret: 's3cret/+',
        },
        headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      },
      {
        method: 'GET',
        path: '/me?fields=all',
        body: {},
        headers: { authorization: 'Bearer t0ken', accept: 'application/json' },
      },
    ]);
    expect(seen[0]?.headers).not.toHaveProperty('authorization');
  });

  it('sends the secret in a header alone where the settings say so (RFC 6749 §2.3.1)', async () => {
    await exchange({ token_endpoint_auth_method: 'client_secret_basic' });
    const [{ rawHeaders, body }] = stub.requests as [(typeof stub.requests)[0]];
    expect(rawHeaders).toContain(`Basic ${Buffer.from('an+app:s3cret%2F%2B').toString('base64')}`);
    expect(body).not.toContain('s3cret');
  });

  it.each(['authorize_url', 'token_url', 'userinfo_url'])('says that %s is unset', async (key) => {
    const { [key]: _, ...options } = settings().options;
    const without = { ...settings(), options };
    const request = { code: 'c', state: 's', redirectUri: REDIRECT_URI, memory: { codeVerifier: 'v' } };
    const requested =
      key === 'authorize_url'
        ? Promise.resolve().then(() => adapter.authorizationUrl(without, request))
        : adapter.exchange(without, { ...request, signal: new AbortController().signal });
    await expect(requested).rejects.toThrow(`providers.hub.${key} is unset`);
  });

  it.each<[string, AdapterMemory | undefined]>([
    ['no verifier', { nonce: 'n' }],
    ['a verifier that is no text', { codeVerifier: 7 }],
  ])('sends nothing when a sign-in left it %s', async (_name, memory) => {
    const without = adapter.exchange(settings(), {
      code: 'c',
      state: 's',
      redirectUri: REDIRECT_URI,
      signal: new AbortController().signal,
      ...(memory && { memory }),
    });
    await expect(without).rejects.toThrow('the sign-in was begun with another adapter or setting');
    expect(stub.requests).toEqual([]);
  });

  describe('an answer of the token URL', () => {
    it.each([['a space between them', 'a b']])(
      'may be a token of %s (RFC 6749 §A.12)',
      async (_name, access_token) => {
        token = [200, { access_token }];
        await exchange();
        expect(stub.requests[1]?.rawHeaders).toContain(`Bearer ${access_token}`);
      },
    );

    it.each([
      ['none', undefined],
      ['a number', 7],
      ['one with a line feed at its end', 't\n'],
      ['one that is not ASCII', 'é'],
    ])('is refused, and nobody is asked, where the token is %s', async (_name, access_token) => {
      token = [200, { access_token, token_type: 'bearer' }];
      await expect(exchange()).rejects.toThrow('the token URL answered with no usable access_token');
      expect(stub.requests).toHaveLength(1);
    });

    it.each([undefined, 'BEARER', '17', ['mac']])('may call its type %j', async (token_type) => {
      token = [200, { access_token: 't', token_type }];
      expect(await exchange()).toMatchObject({ provider_user_id: '7' });
    });

    it.each(['mac', 'DPoP'])('may not call its type %j', async (token_type) => {
      token = [200, { access_token: 't', token_type }];
      await expect(exchange()).rejects.toThrow('the token URL answered with a token_type that is not bearer');
    });

    // Codes of RFC 6749 §5.2, and GitHub's own, with status 200.
    it.each([
      [400, 'invalid_grant', 'invalid_grant'],
      [200, 'bad_verification_code', 'invalid_grant'],
      [200, 'incorrect_client_credentials', 'invalid_client'],
      [401, 'unauthorized_client', 'unauthorized_client'],
      [200, 'something_else', 'something_else'],
      [200, 'invalid_code', 'invalid_grant'], // Slack
      [400, { code: 100, type: 'OAuthException', message: 'used' }, 'invalid_grant'], // Facebook
    ])('with status %i and the error %s means %s', async (status, said, error) => {
      token = [status, { error: said }];
      await expect(exchange()).rejects.toMatchObject({ error, name: 'ProviderRefusal' });
    });
  });

  // The code was valid, so an error of the userinfo URL is not the client's fault.
  it.each([
    [401, { error: 'invalid_grant' }],
    [201, { id: 7 }],
    [500, 'no'],
  ])('a userinfo URL that answers with status %i is a fault, and no refusal', async (status, body) => {
    user = [status, body];
    const error: unknown = await exchange().catch((thrown: unknown) => thrown);
    expect(error).toEqual(new Error(`the userinfo URL answered with status ${status}`));
    expect(error).not.toHaveProperty('error');
  });

  it.each(['/token', '/me?fields=all'])('gives up %s when its time is over', async (path) => {
    const { answer } = stub;
    const controller = new AbortController();
    stub.answer = (request, response, raw) => {
      if (request.path === path) controller.abort();
      else answer(request, response, raw);
    };
    await expect(exchange({}, { codeVerifier: 'v' }, controller.signal)).rejects.toThrow('canceled');
    expect(stub.requests.at(-1)?.path).toBe(path);
  });
});

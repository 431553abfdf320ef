import { createHash } from 'node:crypto';
import { OpenIdStub } from '../../../test/support/openid-stub.js';
import type { ProviderSettings } from '../../config/providers/provider-settings.js';
import type { AdapterMemory, ProviderIdentity } from '../provider-adapter.js';
import { ProviderRefusal } from '../transport/provider-answer.js';
import { ProviderHttp } from '../transport/provider-http.js';
import { OidcAdapter } from './oidc.adapter.js';
import { UnsupportedProvider } from './unsupported.js';

const REDIRECT_URI = 'https://app.example/cb?a=1';
const MEMORY = { codeVerifier: 'v'.repeat(43), nonce: 'n' };

/** An OpenID provider without a service around it (contract §6). */
describe('the adapter oidc', () => {
  let stub: OpenIdStub;
  let http: ProviderHttp;
  let adapter: OidcAdapter;
  beforeAll(async () => {
    stub = await OpenIdStub.start();
  });
  afterAll(() => stub?.close());
  beforeEach(() => {
    stub.reset();
    http = new ProviderHttp();
    adapter = new OidcAdapter(http); // which keeps no discovery document of another test
  });
  afterEach(() => http.onApplicationShutdown());

  const begin = async (options: ProviderSettings['options'] = {}): Promise<[URL, AdapterMemory]> => {
    const request = { state: 's', redirectUri: REDIRECT_URI };
    const { url, memory } = (await adapter.authorizationUrl(stub.settings({ options }), request)) as {
      url: URL;
      memory: AdapterMemory;
    };
    return [url, memory];
  };

  const exchange = (
    memory: AdapterMemory | undefined = MEMORY,
    options: ProviderSettings['options'] = {},
    signal = new AbortController().signal,
  ): Promise<ProviderIdentity> =>
    adapter.exchange(stub.settings({ options }), {
      code: 'c',
      state: 's',
      redirectUri: REDIRECT_URI,
      memory,
      signal,
    });

  const failure = (work: Promise<unknown>): Promise<Error> =>
    work.then(
      () => Promise.reject(new Error('it did not fail')),
      (error: unknown) => error as Error,
    );

  const json = (body: object): [number, string] => [200, JSON.stringify(body)];

  describe('a check', () => {
    it('reads the discovery document, which is then there for the first sign-in', async () => {
      await adapter.check(stub.settings());
      await begin();
      expect(stub.paths).toEqual(['/.well-known/openid-configuration']);
    });

    it('tells all that makes the provider unusable, with no code that would stop the start', async () => {
      stub.metadata = { token_endpoint: undefined, response_types_supported: ['token'] };
      const error = await failure(adapter.check(stub.settings()));
      expect(error).toBeInstanceOf(UnsupportedProvider);
      expect(error.name).toBe('UnsupportedProvider'); // as the log has it
      expect((error as UnsupportedProvider).errors).toMatchObject([
        { name: 'Unsupported', kind: 'addresses' },
        { name: 'Unsupported', kind: 'codeFlow' },
      ]);
      expect(error.message).toMatch(/^provider corp cannot be used: .*token_endpoint.* — .*code flow/);
      expect(error).not.toHaveProperty('error');
    });

    it('tells of another issuer in the same way', async () => {
      stub.metadata = { issuer: 'https://other.example' };
      const error = await failure(adapter.check(stub.settings()));
      expect(error).toBeInstanceOf(UnsupportedProvider);
      expect(error.message).toContain('names another issuer (https://other.example)');
    });

    it('takes the word of the settings for how the secret is sent', async () => {
      stub.metadata = { token_endpoint_auth_methods_supported: ['private_key_jwt'] };
      const options = { token_endpoint_auth_method: 'client_secret_post' };
      await expect(adapter.check(stub.settings())).rejects.toThrow('takes no client secret');
      await expect(adapter.check(stub.settings({ options }))).resolves.toBeUndefined();
    });

    it('that failed is made again: what was changed at the provider counts at once', async () => {
      stub.said = { '/.well-known/openid-configuration': [500, '{}'] };
      await failure(adapter.check(stub.settings()));
      stub.said = {};
      await expect(adapter.check(stub.settings())).resolves.toBeUndefined();
    });

    it('says nothing of what the provider sent in place of a document', async () => {
      stub.said = { '/.well-known/openid-configuration': [200, '{"s3cret'] };
      const error = await failure(adapter.check(stub.settings()));
      expect(error.message).not.toContain('s3cret');
      expect(error.cause).toBeUndefined();
    });
  });

  describe('its authorization page', () => {
    it('is the one of the document, asked for a code bound by PKCE and a nonce', async () => {
      const [url, memory] = await begin();
      expect(`${url.origin}${url.pathname}`).toBe(`${stub.url}/authorize`);
      expect(memory).toEqual({
        codeVerifier: expect.stringMatching(/^[\w-]{43}$/),
        nonce: expect.stringMatching(/^[\w-]{43}$/),
      });
      expect(Object.fromEntries(url.searchParams)).toEqual({
        theirs: '1',
        client_id: 'latchkey',
        response_type: 'code',
        redirect_uri: REDIRECT_URI,
        scope: 'openid profile email',
        state: 's',
        nonce: memory['nonce'],
        code_challenge: createHash('sha256')
          .update(memory['codeVerifier'] as string)
          .digest('base64url'),
        code_challenge_method: 'S256',
      });
    });

    it('is asked for the scope of the settings', async () => {
      expect((await begin({ scope: 'openid' }))[0].searchParams.get('scope')).toBe('openid');
    });
  });

  it.each<[string, Record<string, string>, string[]]>([
    ['pkce', { pkce: 'off' }, ['nonce']],
    ['nonce', { nonce: 'off' }, ['codeVerifier']],
    ['both', { pkce: 'off', nonce: 'off' }, []],
  ])('with %s off it neither sends nor asks for them', async (_what, options, kept) => {
    stub.metadata = { code_challenge_methods_supported: options['pkce'] ? ['plain'] : ['S256'] };
    const [url, memory] = await begin(options);
    expect(Object.keys(memory)).toEqual(kept);
    expect(url.searchParams.has('code_challenge')).toBe(kept.includes('codeVerifier'));
    expect(url.searchParams.has('nonce')).toBe(kept.includes('nonce'));
    stub.claims = { nonce: memory['nonce'] };
    expect(await exchange(memory, options)).toMatchObject({ provider_user_id: 'ada' });
    const form = new URLSearchParams(stub.requests.find(({ path }) => path === '/token')!.body);
    expect(form.has('code_verifier')).toBe(kept.includes('codeVerifier'));
  });

  it('knows what `iss` must be', async () => {
    stub.metadata = { issuer: `${stub.url}/` };
    expect(await adapter.issuer(stub.settings())).toBe(`${stub.url}/`);
  });

  it.each([
    [true, true],
    [false, false],
    [undefined, false],
    ['true', false],
  ])('knows whether each callback has an `iss` (RFC 9207 §3): %j', async (announced, expected) => {
    stub.metadata = { authorization_response_iss_parameter_supported: announced };
    expect(await adapter.announcesIssuer(stub.settings())).toBe(expected);
  });

  describe('redeems a code', () => {
    const ALL = { preferred_username: 'Ada', email: 'ada@id.example', picture: 'https://id.example/a' };

    it('for the claims of the ID token, and what the provider calls user and session', async () => {
      stub.claims = { ...ALL, sid: 'a session' };
      expect(await exchange()).toEqual({
        provider_user_id: 'ada',
        username: 'Ada',
        email: 'ada@id.example',
        avatar_url: 'https://id.example/a',
        subject: 'ada',
        session: 'a session',
      });
      expect(stub.paths).toEqual(['/.well-known/openid-configuration', '/token', '/jwks']);
      expect(Object.fromEntries(new URLSearchParams(stub.requests[1]?.body))).toEqual({
        grant_type: 'authorization_code',
        code: 'c',
        redirect_uri: REDIRECT_URI,
        code_verifier: MEMORY.codeVerifier,
      });
    });

    it('with claims of the settings, beside which the provider’s own names stay', async () => {
      stub.claims = { ...ALL, upn: 'ada@corp' };
      const identity = await exchange(MEMORY, { claim_user_id: 'upn' });
      expect(identity).toMatchObject({ provider_user_id: 'ada@corp', subject: 'ada' });
    });

    it('and asks the userinfo endpoint for what the ID token lacks, which counts first', async () => {
      stub.claims = { email: 'ada@id.example' };
      stub.user = { ...ALL, email: 'other@id.example', sid: 'of nobody' };
      expect(await exchange()).toEqual({
        provider_user_id: 'ada',
        username: 'Ada',
        email: 'ada@id.example',
        avatar_url: 'https://id.example/a',
        subject: 'ada',
        session: undefined,
      });
      expect(stub.requests.at(-1)).toMatchObject({ method: 'GET', path: '/me' });
      expect(stub.requests.at(-1)?.rawHeaders).toContain('Bearer an access token');
    });

    it('and asks nobody where there is no userinfo endpoint', async () => {
      stub.metadata = { userinfo_endpoint: undefined };
      expect(await exchange()).toEqual({ provider_user_id: 'ada', subject: 'ada', session: undefined });
      expect(stub.paths).not.toContain('/me');
    });

    // The e-mail address of an account is dropped where either of the two calls it unverified.
    it.each<[object, object, boolean | undefined]>([
      [{ email_verified: true }, { email_verified: false }, false],
      [{}, { email_verified: false }, false],
      [{ email_verified: false }, { email_verified: true }, false],
      [{ email_verified: true }, {}, undefined],
      [{}, {}, undefined],
    ])('with the doubt of either: %j and %j', async (claims, user, expected) => {
      stub.claims = { email: 'ada@id.example', ...claims };
      stub.user = { ...user };
      expect((await exchange()).email_verified).toBe(expected);
    });

    it('of somebody about whom the userinfo endpoint tells of somebody else: not at all', async () => {
      stub.user = { sub: 'eve' };
      expect((await failure(exchange())).message).toMatch(/sub/);
    });
  });

  describe('refuses', () => {
    it.each([
      ['nothing', undefined],
      ['no nonce', { codeVerifier: 'v' }],
      ['no verifier', { nonce: 'n' }],
      ['a nonce that is no text', { ...MEMORY, nonce: 7 }],
    ])('a sign-in that left it %s, and sends nothing', async (_name, memory) => {
      const work = adapter.exchange(stub.settings(), {
        code: 'c',
        state: 's',
        redirectUri: REDIRECT_URI,
        signal: new AbortController().signal,
        ...(memory && { memory }),
      });
      expect((await failure(work)).message).toBe('the sign-in was begun with another adapter or setting');
      expect(stub.paths).not.toContain('/token');
    });

    it.each<[string, () => void, string]>([
      [
        'no ID token',
        () => (stub.token = { id_token: undefined }),
        'the provider sent no ID token; is openid in the scope?',
      ],
      ['no nonce', () => (stub.claims = { nonce: undefined }), 'the ID token has no nonce'],
      [
        'the at_hash of another token',
        () => (stub.claims = { at_hash: 'x' }),
        'the at_hash of the ID token is not the one of the access token',
      ],
      ['an empty at_hash', () => (stub.claims = { at_hash: '' }), 'the at_hash of the ID token is not'],
    ])('%s, as a fault of the provider', async (_name, change, message) => {
      change();
      const error = await failure(exchange());
      expect(error.message).toContain(message);
      expect(error).not.toHaveProperty('error');
    });

    it('the nonce of another sign-in, as no valid grant (RFC 9700 §4.5.3.2)', async () => {
      stub.claims = { nonce: 'another' };
      const error = await failure(exchange());
      expect(error).toBeInstanceOf(ProviderRefusal);
      expect(error).toMatchObject({
        error: 'invalid_grant',
        message: 'the nonce is of another sign-in: invalid_grant',
      });
    });

    it('an ID token that is encrypted, with what to change at which provider', async () => {
      stub.token = { id_token: 'e30.a.b.c.d' };
      const error = await failure(exchange());
      expect(error).toBeInstanceOf(UnsupportedProvider);
      expect(error.message).toMatch(/^provider corp cannot be used: it encrypts ID tokens/);
    });

    it('what the provider refuses, by its word alone', async () => {
      stub.said = { '/token': [403, '{"error":"invalid_grant","error_description":"s3cret"}'] };
      expect(await failure(exchange())).toMatchObject({
        error: 'invalid_grant',
        message: 'the provider answered with status 403: invalid_grant',
      });
    });

    it.each<[string, object]>([
      ['iss', { iss: 'https://other.example' }],
      ['aud', { aud: 'another' }],
      ['exp', { exp: 1 }],
    ])('an ID token whose %s is wrong, and tells nothing that it holds', async (_name, claims) => {
      stub.claims = { ...claims, email: 's3cret' };
      const error = await failure(exchange());
      expect(error.message).not.toContain('s3cret');
      expect(error.cause).toBeUndefined();
    });
  });

  it('takes an at_hash that is right', async () => {
    const half = createHash('sha256').update('an access token').digest().subarray(0, 16);
    stub.claims = { at_hash: half.toString('base64url') };
    expect(await exchange()).toMatchObject({ provider_user_id: 'ada' });
  });

  it('ends when its time is over', async () => {
    const controller = new AbortController();
    stub.seen = ({ path }) => {
      if (path !== '/token') return true;
      controller.abort();
      return false;
    };
    await expect(exchange(MEMORY, {}, controller.signal)).rejects.toThrow('canceled');
  });

  describe('the end of its session', () => {
    const request = { redirectUri: 'https://app.example/bye', hint: 'ada' };

    it('is where its document says (OpenID Connect RP-Initiated Logout 1.0 §2)', async () => {
      stub.metadata = { end_session_endpoint: `${stub.url}/bye?theirs=1` };
      const url = await adapter.logoutUrl(stub.settings(), request);
      expect(`${url?.origin}${url?.pathname}`).toBe(`${stub.url}/bye`);
      expect(Object.fromEntries(url!.searchParams)).toEqual({
        theirs: '1',
        client_id: 'latchkey',
        post_logout_redirect_uri: 'https://app.example/bye',
        logout_hint: 'ada',
      });
    });

    it('is nowhere where its document says nothing', async () => {
      expect(await adapter.logoutUrl(stub.settings(), request)).toBeUndefined();
    });

    it.each(['javascript:alert(1)', 'no address'])('is not %s', async (end_session_endpoint) => {
      stub.metadata = { end_session_endpoint };
      await expect(adapter.logoutUrl(stub.settings(), request)).rejects.toThrow();
    });
  });

  it('shares one request for the document among those that come at once', async () => {
    stub.said = { '/token': json({ error: 'invalid_grant' }) };
    await Promise.allSettled([exchange(), exchange(), begin()]);
    expect(stub.paths.filter((path) => path.startsWith('/.well-known'))).toHaveLength(1);
  });
});

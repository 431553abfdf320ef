import { createHash, createPublicKey } from 'node:crypto';
import { jest } from '@jest/globals';
import { jwtVerify } from 'jose';
import { OpenIdStub } from '../../../test/support/openid-stub.js';
import { makeSigningKey, reissue } from '../../../test/support/signing-key.js';
import { withPreset } from '../../platform/config/providers/presets.js';
import type { ProviderSettings } from '../../platform/config/settings/settings.js';
import type { AdapterMemory, ProviderIdentity, UserRequest } from '../provider-adapter.js';
import { ProviderRefusal } from '../transport/provider-answer.js';
import { ProviderHttp } from '../transport/provider-http.js';
import { OidcAdapter as Exported } from '../adapter.js';
import { atHashMatches } from './id-token.js';
import { fetchKeys } from './oidc-client.js';
import { OidcAdapter } from './oidc.adapter.js';
import { Unsupported } from './unsupported.js';

const REDIRECT_URI = 'https://app.example/cb?a=1';
const MEMORY = { codeVerifier: 'v'.repeat(43), nonce: 'n' };
const DOCUMENT = '/.well-known/openid-configuration';

/** An OpenID provider without a service around it; test/provider/oidc.spec.ts has whole sign-ins. */
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

  describe('reads the discovery document', () => {
    const documents = (): number => stub.paths.filter((path) => path === DOCUMENT).length;
    const check = (more?: Partial<ProviderSettings>): Promise<void> => adapter.check(stub.settings(more));
    afterEach(() => jest.restoreAllMocks());

    it('once for all who come at once, and again after an hour or a failure', async () => {
      stub.said = { '/token': [200, '{"error":"invalid_grant"}'] };
      await Promise.allSettled([check(), exchange(), exchange(), begin()]);
      expect(documents()).toBe(1);
      const clock = jest.spyOn(Date, 'now');
      const began = Date.now();
      clock.mockReturnValue(began + 3_300_000); // minutes of margin for a slow machine
      await check();
      expect(documents()).toBe(1);
      clock.mockReturnValue(began + 3_601_000);
      stub.said = { [DOCUMENT]: [500, '{}'] };
      await expect(Promise.all([check(), check()])).rejects.toThrow('not available');
      expect(documents()).toBe(2);
      stub.said = {};
      await check();
      expect(documents()).toBe(3);
    });

    it.each(['', '/'])('of its issuer, whether or not that ends with a slash: "%s"', async (slash) => {
      stub.metadata = { issuer: stub.url + slash };
      expect(await adapter.issuer(stub.settings())).toBe(stub.url + slash);
      expect(stub.paths).toEqual([DOCUMENT]);
    });

    // OpenID Connect Discovery §4.3: it could speak for any other provider.
    it.each([
      ['<url>/x', '<url>/x'],
      [`https://${'a'.repeat(201)}`, 'which is not an address'],
      ['https://a\u001b[1m', 'which is not an address'],
    ])('but not one that names another issuer: %s', async (issuer, named) => {
      stub.metadata = { issuer: issuer.replace('<url>', stub.url) };
      const error = await failure(check());
      expect(error).toBeInstanceOf(Unsupported);
      expect(error.message).toContain(`another issuer (${named.replace('<url>', stub.url)})`);
      expect(error).toMatchObject({ call: { url: stub.url + DOCUMENT, status: 200 } });
    });

    it('and reports all that makes the provider unusable, with no code that would stop the start', async () => {
      stub.metadata = { token_endpoint: undefined, response_types_supported: ['token'] };
      const error = await failure(check());
      expect(error).toBeInstanceOf(Unsupported);
      expect(error.name).toBe('Unsupported'); // as the log has it
      expect((error as Unsupported).errors).toHaveLength(2);
      expect(error.message).toMatch(/^provider corp cannot be used: .*token_endpoint.* — .*code flow/);
      expect(error).not.toHaveProperty('error');
    });
  });

  describe('has keys for logout tokens', () => {
    const keysOf = (jwksUri: string | undefined, url = stub.url): Promise<unknown> =>
      fetchKeys(http, stub.settings({ url }), {
        issuer: '',
        ...(jwksUri !== undefined && { jwks_uri: jwksUri }),
      });

    it.each([
      [undefined, 'http:', 'the discovery document names no jwks_uri'],
      ['http://127.0.0.1:1', 'https://id.example', 'the jwks_uri is not https'],
      ['nothttps://127.0.0.1:1', 'https://id.example', 'the jwks_uri is not https'],
    ])('but not from %s of a provider at %s', async (jwksUri, url, message) => {
      expect((await failure(keysOf(jwksUri, url))).message).toBe(message);
    });

    it.each([302, 500])('but not from an answer with status %i', async (status) => {
      stub.said = { '/jwks': [status, '{"keys":[]}'] };
      const error = await failure(keysOf(`${stub.url}/jwks`));
      expect(error.message).toBe(`the jwks_uri answered with status ${status}`);
    });
  });

  it.each<[string, Record<string, string>, string[]]>([
    ['pkce', { pkce: 'off' }, ['nonce']],
    ['nonce', { nonce: 'off' }, ['codeVerifier']],
    ['both', { pkce: 'off', nonce: 'off' }, []],
  ])('with %s off it neither sends nor asks for them', async (_what, options, expected) => {
    stub.metadata = { code_challenge_methods_supported: options['pkce'] ? ['plain'] : ['S256'] };
    const [url, memory] = await begin(options);
    expect(Object.keys(memory)).toEqual(expected);
    expect(url.searchParams.get('theirs')).toBe('1'); // the address's own query is kept
    expect(url.searchParams.has('code_challenge')).toBe(expected.includes('codeVerifier'));
    expect(url.searchParams.has('nonce')).toBe(expected.includes('nonce'));
    stub.claims = { nonce: memory['nonce'] };
    expect(await exchange(memory, options)).toMatchObject({ provider_user_id: 'ada' });
    const form = new URLSearchParams(stub.requests.find(({ path }) => path === '/token')!.body);
    expect(form.has('code_verifier')).toBe(expected.includes('codeVerifier'));
  });

  it('passes the parameters of the settings and of the sign-in, which count first; those of the flow stay', async () => {
    const { url } = (await adapter.authorizationUrl(
      stub.settings({ options: { authorize_params: 'prompt=login&hd=corp.example&state=theirs' } }),
      { state: 's', redirectUri: REDIRECT_URI, params: { prompt: 'none', scope: 'all', login_hint: 'a&b' } },
    )) as { url: URL };
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      prompt: 'none',
      hd: 'corp.example',
      login_hint: 'a&b',
      state: 's',
      scope: 'openid profile email',
    });
    expect(url.searchParams.getAll('prompt')).toHaveLength(1);
  });

  it.each<[string, Record<string, unknown>, string, string]>([
    ['as it is', {}, 'select_account', 'select_account'],
    [
      'as it is',
      { prompt_values_supported: ['login', 'select_account'] },
      'select_account',
      'select_account',
    ],
    ['as login', { prompt_values_supported: ['none', 'login', 'consent'] }, 'select_account', 'login'],
    ['as it is', { prompt_values_supported: ['login'] }, 'consent', 'consent'],
    ['as it is', { prompt_values_supported: [7] }, 'select_account', 'select_account'],
  ])('sends a prompt %s if discovery has %j: %s', async (_how, metadata, prompt, expected) => {
    stub.metadata = metadata;
    const request = { state: 's', redirectUri: REDIRECT_URI, params: { prompt } };
    const { url } = (await adapter.authorizationUrl(stub.settings(), request)) as { url: URL };
    expect(url.searchParams.get('prompt')).toBe(expected);
  });

  // Auth0 and Okta: an ID token has auth_time if max_age is sent (docs/guides/step-up.md#from-the-provider).
  it.each<[string, Record<string, string>, Record<string, string>, string | null]>([
    ['of the preset', {}, {}, '31536000'],
    ['of the settings', { authorize_params: 'max_age=60' }, {}, '60'],
    ['of the client', { authorize_params: 'max_age=60' }, { max_age: '0' }, '0'],
    ['none without a preset', { adapter: 'oidc' }, {}, null],
  ])('sends the max_age %s', async (_name, { adapter: product = 'auth0', ...options }, params, expected) => {
    const settings = withPreset({ ...stub.settings({ options }), adapter: product });
    const request = { state: 's', redirectUri: REDIRECT_URI, params };
    const { url } = (await adapter.authorizationUrl(settings, request)) as { url: URL };
    expect(url.searchParams.get('max_age')).toBe(expected);
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

    it('with claims of the settings, beside which the provider’s own names stay', async () => {
      stub.claims = { ...ALL, upn: 'ada@corp' };
      const identity = await exchange(MEMORY, { claim_user_id: 'upn' });
      expect(identity).toMatchObject({ provider_user_id: 'ada@corp', subject: 'ada' });
    });

    it('with claims of the settings, and reports what came from the provider', async () => {
      const received = jest.fn();
      stub.claims = { realm_access: { roles: ['a'] } };
      stub.user = { groups: ['b'] };
      const identity = await adapter.exchange(
        stub.settings({ options: { claims: 'roles=realm_access.roles,groups=groups' } }),
        {
          code: 'c',
          state: 's',
          redirectUri: REDIRECT_URI,
          memory: MEMORY,
          signal: new AbortController().signal,
          received,
        },
      );
      expect(identity.claims).toEqual({ roles: ['a'], groups: ['b'] });
      expect(received).toHaveBeenLastCalledWith(
        expect.objectContaining({ realm_access: { roles: ['a'] }, groups: ['b'], iss: stub.url }),
      );
    });

    it('for an adapter of an integrator that extends it (`latchkey/adapter`)', async () => {
      adapter = new (class extends Exported {
        override async identityOf(
          provider: ProviderSettings,
          claims: Record<string, unknown>,
          request: UserRequest,
        ): Promise<ProviderIdentity> {
          expect(request.accessToken).toBe('an access token');
          if (claims['department'] === 'none') throw Object.assign(new Error(), { error: 'invalid_grant' });
          const identity = await super.identityOf(provider, claims, request);
          return { ...identity, claims: { roles: [claims['department']] } };
        }
        override isComplete(_provider: ProviderSettings, claims: Record<string, unknown>): boolean {
          return claims['department'] !== undefined;
        }
      })() as unknown as OidcAdapter;
      stub.user = { department: 'physics' };
      expect(await exchange()).toMatchObject({ provider_user_id: 'ada', claims: { roles: ['physics'] } });
      stub.claims = { department: 'maths' };
      expect(await exchange()).toMatchObject({ claims: { roles: ['maths'] } });
      expect(stub.paths.filter((path) => path === '/me')).toHaveLength(1);
      stub.claims = { department: 'none' };
      await expect(exchange()).rejects.toMatchObject({ error: 'invalid_grant' });
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
      [{ email_verified: false }, { email_verified: true }, false],
      [{}, {}, undefined],
    ])('with the doubt of either: %j and %j', async (claims, user, expected) => {
      stub.claims = { email: 'ada@id.example', ...claims };
      stub.user = { ...user };
      expect((await exchange()).email_verified).toBe(expected);
    });

    it('and reads userinfo that is a signed JWT by its type', async () => {
      stub.metadata = { userinfo_signing_alg_values_supported: ['ES256'] };
      stub.seen = ({ path }) => {
        if (path === '/jwks') stub.claims = { name: 'Ada' };
        stub.said = { '/me': [200, stub.idToken(), { 'Content-Type': ' Application/JWT; charset=utf-8' }] };
      };
      expect(await exchange()).toMatchObject({ username: 'Ada' });
    });

    it.each(['text/html', undefined])('in JSON of the type %s', async (type) => {
      const body = JSON.stringify({ access_token: 't', id_token: stub.idToken() });
      stub.said = { '/token': [200, body, type === undefined ? {} : { 'Content-Type': type }] };
      expect(await exchange()).toMatchObject({ provider_user_id: 'ada' });
    });
  });

  describe('with optional members that cannot be used', () => {
    const hour = Math.floor(Date.now() / 1000) + 3600;
    it.each<[string, Record<string, unknown>, Record<string, unknown>]>([
      ['a numeric sub', { sub: 42 }, { provider_user_id: '42', subject: '42' }],
      ['a negative sub', { sub: -7 }, { provider_user_id: '-7' }],
      ['a numeric sid', { sid: 7 }, { session: '7' }],
      ['auth_time as text', { auth_time: 'today' }, { auth_time: undefined }],
      ['auth_time before 1970', { auth_time: -1 }, { auth_time: undefined }],
      ['auth_time null', { auth_time: null }, { auth_time: undefined }],
      ['nbf as text', { nbf: String(hour) }, {}],
      ['nbf null', { nbf: null }, {}],
      ['at_hash null', { at_hash: null }, {}],
      ['at_hash false', { at_hash: false }, {}],
      ['azp null', { azp: null }, {}],
      ['two audiences without azp', { aud: ['latchkey', 'api'] }, {}],
      ['two audiences, azp null', { aud: ['api', 'latchkey'], azp: null }, {}],
      ['two audiences with azp', { aud: ['api', 'latchkey'], azp: 'latchkey' }, {}],
      ['azp of another client beside one audience', { azp: 'api' }, {}],
      ['acr and amr of other types', { acr: 2, amr: 'pwd', name: 7, picture: {}, email: [] }, {}],
    ])('%s', async (_name, claims, expected) => {
      stub.claims = claims;
      const sub = 'sub' in claims ? claims.sub : 'ada';
      stub.user = { sub, name: 'Ada', email: 'a@x.example', picture: 'https://x.example/a' };
      expect(await exchange()).toMatchObject({ provider_user_id: String(sub), ...expected });
    });

    it.each<[string, number, boolean]>([
      ['exp', -15, true],
      ['exp', -31, false],
      ['nbf', 29, true],
      ['nbf', 45, false],
    ])('compares %s with a clock that may be 30 s off: %i s from now', async (name, offset, isGood) => {
      stub.seen = ({ path }) => {
        if (path === '/token') stub.claims = { [name]: Math.floor(Date.now() / 1000) + offset };
      };
      const outcome = await exchange().then(
        () => 'good',
        ({ message }: Error) => message,
      );
      expect(outcome).toMatch(isGood ? /^good$/ : new RegExp(`^unexpected JWT "${name}" `));
    });

    it('keeps the ID token as it was sent', async () => {
      stub.claims = { sub: 42, nbf: 'x' };
      stub.user = { sub: '42' };
      const sent = stub.idToken();
      stub.token = { id_token: sent };
      expect((await exchange(MEMORY, { keep_id_token: 'on' })).id_token).toBe(sent);
    });

    it.each<[string, Record<string, unknown>, Record<string, unknown>]>([
      ['sub beyond 2^53', { sub: 2 ** 53 }, {}],
      ['sub that is a fraction', { sub: 1.5 }, {}],
      ['sub null', { sub: null }, {}],
      ['azp that is a number', { aud: ['latchkey', 'api'], azp: 7 }, {}],
      ['audiences of others', { aud: ['api', 'web'] }, {}],
      ['nbf in the future', { nbf: hour }, {}],
      ['no iat', { iat: undefined }, {}],
      ['exp as text', { exp: String(hour) }, {}],
      ['exp null', { exp: null }, {}],
      ['iat as text', { iat: 'now' }, {}],
      ['nonce null', { nonce: null }, {}],
      ['nonce as number', { nonce: 7 }, {}],
    ])('but refuses %s', async (_name, claims, user) => {
      stub.claims = claims;
      stub.user = user;
      await failure(exchange());
    });

    // Signatures: test/provider/oidc.spec.ts.
    it.each<[string, (token: string) => string]>([
      ['a critical header', (token) => reissue(token, stub.key, {}, { crit: ['b64'], b64: true })],
      ['the algorithm none', (token) => reissue(token, stub.key, {}, { alg: 'none' }).replace(/[^.]+$/, '')],
    ])('refuses an ID token with %s', async (_name, change) => {
      stub.metadata = { id_token_signing_alg_values_supported: ['ES256', 'none'] };
      stub.token = { id_token: change(stub.idToken()) };
      await failure(exchange());
    });
  });

  // The form if the provider lists it; Basic is the default of OpenID Connect Discovery §3.
  it.each<[unknown, string | undefined, boolean]>([
    [undefined, undefined, false],
    [['client_secret_post'], undefined, true],
    [['client_secret_basic', 'client_secret_post'], undefined, true],
    [['client_secret_basic', 'client_secret_post'], 'client_secret_basic', false],
    [['client_secret_basic'], 'client_secret_post', true],
  ])(
    'sends the secret as a provider of %j takes it, or the setting %s says',
    async (methods, own, inForm) => {
      stub.metadata = { token_endpoint_auth_methods_supported: methods };
      await exchange(MEMORY, own === undefined ? {} : { token_endpoint_auth_method: own });
      const { body, rawHeaders } = stub.requests.find(({ path }) => path === '/token')!;
      expect(new URLSearchParams(body).get('client_secret')).toBe(inForm ? 'a client secret' : null);
      expect(rawHeaders.some((value) => value.startsWith('Basic '))).toBe(!inForm);
    },
  );

  describe('authenticates without a client secret', () => {
    const jwk = { ...makeSigningKey('ours').jwk };
    const own = { clientSecret: '', clientKey: JSON.stringify(jwk) };
    const redeem = (
      options: ProviderSettings['options'],
      more: Partial<ProviderSettings> = own,
    ): Promise<unknown> =>
      adapter.exchange(stub.settings({ ...more, options }), {
        code: 'c',
        state: 's',
        redirectUri: REDIRECT_URI,
        memory: MEMORY,
        signal: new AbortController().signal,
      });
    const formAt = (path: string): Record<string, string> =>
      Object.fromEntries(new URLSearchParams(stub.requests.find((one) => one.path === path)!.body));

    it.each([
      ['issuer', '', {}],
      ['token endpoint', '/token', { client_assertion_audience: 'token_endpoint', client_key_id: 'named' }],
    ])('by an assertion for the %s (RFC 7523)', async (_name, path, options: Record<string, string>) => {
      stub.metadata = { token_endpoint_auth_methods_supported: ['private_key_jwt'] };
      await redeem({ token_endpoint_auth_method: 'private_key_jwt', ...options });
      const { client_assertion: jwt = '', client_assertion_type: type, ...form } = formAt('/token');
      expect(type).toBe('urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
      expect(form).toMatchObject({ client_id: 'latchkey', code: 'c' });
      expect(form).not.toHaveProperty('client_secret');
      const { payload, protectedHeader } = await jwtVerify(
        jwt,
        createPublicKey({ key: jwk, format: 'jwk' }),
        {
          audience: stub.url + path,
          issuer: 'latchkey',
          subject: 'latchkey',
          requiredClaims: ['jti', 'iat', 'exp'],
        },
      );
      expect(protectedHeader).toEqual({ alg: 'ES256', typ: 'JWT', kid: options['client_key_id'] ?? 'ours' });
      expect(payload.exp! - payload.iat!).toBe(300);
    });

    it('by nothing', async () => {
      await redeem({ token_endpoint_auth_method: 'none' });
      expect(Object.keys(formAt('/token'))).not.toContain('client_secret');
    });

    it('pushes the parameters of the page first, if the provider demands it (RFC 9126)', async () => {
      const endpoint = { pushed_authorization_request_endpoint: `${stub.url}/par` };
      stub.metadata = { ...endpoint, require_pushed_authorization_requests: true };
      stub.said = { '/par': [201, '{"request_uri":"urn:a","expires_in":"soon"}'] };
      const settings = stub.settings({ ...own, options: { token_endpoint_auth_method: 'private_key_jwt' } });
      const request = { state: 's', redirectUri: REDIRECT_URI };
      const { url } = (await adapter.authorizationUrl(settings, request)) as { url: URL };
      const query = { theirs: '1', client_id: 'latchkey', request_uri: 'urn:a' };
      expect(Object.fromEntries(url.searchParams)).toEqual(query);
      expect(formAt('/par')).toMatchObject({ state: 's', redirect_uri: REDIRECT_URI, response_type: 'code' });
      expect(formAt('/par')['client_assertion']).toBeDefined();
      stub.said = { '/par': [400, '{"error":"invalid_request"}'] };
      expect(await failure(Promise.resolve(adapter.authorizationUrl(settings, request)))).toMatchObject({
        error: 'invalid_request',
        call: { url: `${stub.url}/par`, status: 400 },
      });
    });
  });

  describe('with an issuer of many tenants (Microsoft)', () => {
    const TENANT = '00000000-0000-4000-8000-00000000000a';
    const OTHER = '00000000-0000-4000-8000-00000000000b';
    const redeem = (options: ProviderSettings['options'] = { tenants: `${OTHER},${TENANT.toUpperCase()}` }) =>
      adapter.exchange(stub.settings({ url: `${stub.url}/organizations/v2.0`, options }), {
        code: 'c',
        state: 's',
        redirectUri: REDIRECT_URI,
        memory: MEMORY,
        signal: new AbortController().signal,
      });
    const issuerOf = (tid: string): string => `${stub.url}/${tid}/v2.0`;
    beforeEach(() => {
      const document = {
        issuer: issuerOf('{tenantid}'),
        authorization_endpoint: `${stub.url}/authorize`,
        token_endpoint: `${stub.url}/token`,
        jwks_uri: `${stub.url}/jwks`,
        id_token_signing_alg_values_supported: ['ES256'],
      };
      stub.said = { [`/organizations/v2.0${DOCUMENT}`]: [200, JSON.stringify(document)] };
    });

    it('accepts the users of the tenants in the settings', async () => {
      stub.claims = { iss: issuerOf(TENANT), tid: TENANT };
      expect(await redeem()).toMatchObject({ provider_user_id: 'ada' });
    });

    it.each<[string, object, object]>([
      [
        'another tenant',
        { tid: OTHER.replace('b', 'c') },
        {
          error: 'invalid_grant',
          message: `the user is of the tenant ${OTHER.replace('b', 'c')}, which is not in tenants: invalid_grant`,
          call: { settings: ['tenants'] },
        },
      ],
      ['an issuer of another tenant than tid', { tid: TENANT, iss: 'OTHER' }, { name: 'Error' }],
      ['no tid', {}, { name: 'Error' }],
    ])('rejects %s', async (_name, claims: { tid?: string; iss?: string }, expected) => {
      stub.claims = { ...claims, iss: issuerOf(claims.iss ? OTHER : (claims.tid ?? TENANT)) };
      expect(await failure(redeem())).toMatchObject(expected);
    });

    it('is unusable without tenants', async () =>
      expect((await failure(redeem({}))).message).toContain('names another issuer'));
  });

  describe('refuses', () => {
    it.each([
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

    it('encrypted userinfo, with what to change at which provider', async () => {
      stub.said = { '/me': [200, 'e30.a.b.c.d', { 'Content-Type': 'application/jwt' }] };
      const error = await failure(exchange());
      expect(error).toBeInstanceOf(Unsupported);
      expect(error.message).toMatch(/^provider corp cannot be used: it encrypts userinfo/);
    });

    // An error is known by its code, not by status and type.
    it.each<[number, Record<string, string>]>([
      [403, { 'Content-Type': 'application/json' }],
      [200, { 'Content-Type': 'application/json' }],
      [400, { 'Content-Type': 'text/html' }],
      [401, { 'WWW-Authenticate': 'Basic realm="x"' }],
    ])('what the provider refuses, by its word alone: %i %j', async (status, headers) => {
      stub.said = { '/token': [status, '{"error":"invalid_grant","error_description":"s3cret"}', headers] };
      const error = await failure(exchange());
      expect(error).toBeInstanceOf(ProviderRefusal);
      expect(error).toMatchObject({
        error: 'invalid_grant',
        message: `the provider answered with status ${status}: invalid_grant`,
        call: { url: `${stub.url}/token`, status, error: 'invalid_grant' },
      });
    });

    it.each<[string, number, string]>([
      ['is no JSON', 200, '<html>'],
      ['has an error that is no code', 500, '{"error":7}'],
      ['is a list', 200, '[]'],
      ['has no error', 503, '{}'],
    ])('an answer that %s, and says what was asked', async (_name, status, body) => {
      stub.said = { '/token': [status, body] };
      const error = await failure(exchange());
      expect(error).toMatchObject({ call: { url: `${stub.url}/token`, status } });
      expect(['invalid_grant', 'invalid_client', 'invalid_request']).not.toContain(
        (error as { error?: unknown }).error,
      );
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

  it.each([
    ['RS256', 'sha256'],
    ['ES384', 'sha384'],
    ['PS512', 'sha512'],
    ['Ed25519', 'sha512'],
  ])('compares at_hash with the left half of the hash of %s', (alg, hash) => {
    const digest = createHash(hash).update('access').digest();
    const half = digest.subarray(0, digest.length / 2).toString('base64url');
    const idToken = `${Buffer.from(JSON.stringify({ alg })).toString('base64url')}.e30.c2ln`;
    expect(atHashMatches(idToken, 'access', half)).toBe(true);
    expect(atHashMatches(idToken, 'access2', half)).toBe(false);
    expect(atHashMatches(idToken, 'access', half.slice(1))).toBe(false);
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
});

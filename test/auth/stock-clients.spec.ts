import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { bearer, beginSignIn, claimsOf, type Tokens } from '../support/sign-in.js';
import { ClientKey } from '../support/dpop.js';
import { makeLogoutToken } from '../support/forged-tokens.js';
import { makeSigningKey } from '../support/signing-key.js';
import { query } from '../support/database.js';
import { startTestService } from '../support/service.js';
import { answerIn, REDIRECT_URI, returnWith, StockClient } from '../support/stock-client.js';
import { speakOpenId } from '../support/openid-stub.js';
import { StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';

const PUBLIC_URL = 'http://localhost:3000';
const OTHERS = ['https://app.example/cb?a=1%20b', 'com.example.app:/callback', 'http://127.0.0.1:4711/cb'];
const CLIENT = { CLIENT_ID: 'latchkey', CLIENT_SECRET: 'a client secret of the provider' };

const provided = (name: string, keys: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries({ ...CLIENT, ...keys }).map(([key, value]) => [`PROVIDERS_${name}_${key}`, value]),
  );

/**
 * Sign-in for stock OAuth clients (docs/stock-clients.md#the-endpoints), on two instances that share a
 * database.
 */
describe('a stock OAuth client', () => {
  const key = makeSigningKey('first');
  let nonces: Map<string, string>;
  let env: Record<string, string>;

  const provider = use(() => StubProvider.start());
  const corp = use(() => StubProvider.start());
  const all = () => ({
    ...env,
    ...provided('CORP', { ADAPTER: 'oidc', URL: corp.url, ALLOWED_PARAMS: 'tenant' }),
    ...provided('GONE', { URL: 'http://127.0.0.1:1' }),
    ...provided('LOST', { ADAPTER: 'oidc', URL: 'http://127.0.0.1:1' }),
  });
  beforeAll(() => {
    nonces = speakOpenId(corp, key);
    env = {
      ...provider.env(),
      PROVIDERS_STUB_REDIRECT_URIS: 'https://stub-only.example/cb',
      PUBLIC_URL,
      REDIRECT_URIS: [REDIRECT_URI, ...OTHERS].join(),
    };
  });
  const here = use(() => startTestService(all()));
  const there = use(() => here.another());
  beforeEach(() => provider.reset());

  const sql = (text: string, values: unknown[] = []) => query(here.databaseUrl, text, values);
  const client = new StockClient();

  it('signs somebody in, each step at whichever instance', async () => {
    const begun = await client.authorize(here.url, { provider: 'stub' }).expect(302);
    expect(begun.headers['location']!.startsWith(`${provider.url}/oauth2/authorize?`)).toBe(true);
    expect(answerIn(begun)).toEqual({
      client_id: 'latchkey',
      redirect_uri: `${PUBLIC_URL}/providers/stub/callback`,
      state: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const back = await returnWith(there.url, begun, { code: 'ada' }).expect(302);
    expect(back.headers['location']!.startsWith(`${REDIRECT_URI}?`)).toBe(true);
    const { code, ...rest } = answerIn(back);
    expect(code).toMatch(/^lkc_[\w-]{43}$/);
    expect(rest).toEqual({ state: client.state, iss: PUBLIC_URL });
    const { body } = await client.token(here.url, code!).expect(200);
    const tokens = body as Tokens;
    expect(tokens).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      refresh_token: expect.stringMatching(/^lkr_/),
      expires_in: 3600,
      user_id: claimsOf(tokens.access_token)['sub'],
    });
    await bearer(there.url, tokens.access_token).get('/me').expect(200);
    expect(provider.requests).toHaveLength(1);
    expect(new URLSearchParams(provider.requests[0]!.body).get('redirect_uri')).toBe(
      `${PUBLIC_URL}/providers/stub/callback`,
    );
  });

  it('passes parameters on to the page of an OpenID provider, and gets an error for bad ones', async () => {
    const begun = await client.authorize(here.url, { provider: 'corp', login_hint: 'ada' }).expect(302);
    expect(answerIn(begun)).toMatchObject({ login_hint: 'ada', response_type: 'code' });
    const bad = await client.authorize(here.url, { provider: 'corp', tenant: ['a', 'b'] }).expect(302);
    expect(answerIn(bad)).toMatchObject({ error: 'invalid_request', state: client.state, iss: PUBLIC_URL });
  });

  it('and the specification’s client are the same user', async () => {
    const state = await beginSignIn(here.url, { redirect_uri: 'https://stub-only.example/cb' });
    const other = await request(here.url).post('/oauth2/token').send({ code: 'bob', state }).expect(200);
    const { body } = await client.token(here.url, await client.codeFrom(here.url, { code: 'bob' }));
    expect((body as Tokens).user_id).toBe((other.body as Tokens).user_id);
  });

  it.each(OTHERS)('is sent to %s as it stands, with or without a state', async (redirectUri) => {
    const other = new StockClient(redirectUri);
    const begun = await other.authorize(here.url, { provider: 'stub', state: undefined }).expect(302);
    const { headers } = await returnWith(here.url, begun, { code: 'ada' }).expect(302);
    const before = `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}code=lkc_`;
    expect(headers['location']!.slice(0, before.length)).toBe(before);
    expect(headers['location']).toMatch(/[?&]code=lkc_[\w-]{43}&iss=http%3A%2F%2Flocalhost%3A3000$/);
  });

  describe('GET /oauth2/authorize', () => {
    it.each<[string, object, string]>([
      ['no code_challenge', { code_challenge: undefined }, 'invalid_request'],
      ...['form_post', 'fragment', 'Query'].map((mode): [string, object, string] => [
        `response_mode ${mode}`,
        { response_mode: mode },
        'invalid_request',
      ]),
      ['a challenge that is no hash', { code_challenge: 'a'.repeat(42) }, 'invalid_request'],
      ['a challenge of another alphabet', { code_challenge: '+'.repeat(43) }, 'invalid_request'],
      ['an unknown provider', { provider: 'nobody' }, 'invalid_request'],
      ['a provider whose discovery is away', { provider: 'lost' }, 'temporarily_unavailable'],
    ])('tells the client of %s', async (_name, more, error) => {
      const response = await client.authorize(here.url, { provider: 'stub', ...more }).expect(302);
      const { error_description: description, ...answer } = answerIn(response);
      expect(answer).toEqual({ error, state: client.state, iss: PUBLIC_URL });
      expect(description === undefined || /^[\w =.]+$/.test(description)).toBe(true);
      expect(response.headers['location']!.startsWith(`${REDIRECT_URI}?error=${error}`)).toBe(true);
    });

    const twice = (name: string) => ({ [name]: [client.authorizationRequest()[name] ?? 'stub', 'stub'] });
    it.each<[string, object]>([
      ['no client_id', { client_id: undefined }],
      ['a blank client_id', { client_id: ' ' }],
      ['one of 256 characters', { client_id: 'a'.repeat(256) }],
      ['no redirect_uri', { redirect_uri: undefined }],
      ['one that is not listed', { redirect_uri: 'https://app.example/cb/' }],
      ['one of the provider’s own list', { redirect_uri: 'https://stub-only.example/cb' }],
      ['a state of 2049 characters', { state: 'a'.repeat(2049) }],
      ['a state that cannot be printed', { state: 'a\tb' }],
      ...['response_type', 'client_id', 'redirect_uri', 'state', 'code_challenge', 'provider'].map(
        (name): [string, object] => [`${name} twice`, twice(name)],
      ),
    ])('shows %s, and sends nobody anywhere', async (_name, more) => {
      const asked = { provider: 'stub', ...more };
      const json = await client.authorize(here.url, asked);
      expect([json.status, json.body, json.headers['location']]).toEqual([
        400,
        { error: 'invalid_request', error_description: expect.any(String) },
        undefined,
      ]);
      const page = await client.authorize(here.url, asked).set('Accept', 'text/html, */*;q=0.8');
      expect([page.status, page.type, page.headers['location']]).toEqual([400, 'text/html', undefined]);
      expect(page.text).toContain((json.body as { error_description: string }).error_description);
    });

    it('takes 2048 characters of state and 255 of client_id', async () => {
      const state = '~'.repeat(2048);
      const other = new StockClient(REDIRECT_URI, 'ä'.repeat(255));
      const begun = await other.authorize(here.url, { provider: 'stub', state }).expect(302);
      const back = answerIn(await returnWith(here.url, begun, { code: 'ada' }).expect(302));
      expect(back['state']).toBe(state);
      await other.token(here.url, back['code']!).expect(200);
    });

    it('refuses HEAD, and so does the callback', async () => {
      const head = (path: string, parameters: object) => request(here.url).head(path).query(parameters);
      const before = await sql('SELECT count(*) FROM authorization_states');
      const asked = client.authorizationRequest({ provider: 'stub' });
      const refused = await head('/oauth2/authorize', asked).expect(405);
      expect(refused.headers['allow']).toBe('GET');
      await head('/providers/stub/callback', { code: 'c', state: 'a'.repeat(64) }).expect(405);
      expect(await sql('SELECT count(*) FROM authorization_states')).toEqual(before);
      await head('/oauth2/authorize', { provider: 'mock' }).expect(200); // the specification's
    });

    it('with an empty response_type is the specification’s', async () => {
      const answer = await client.authorize(here.url, { response_type: '', provider: 'mock' }).expect(200);
      expect(Object.keys(answer.body as object)).toEqual(['redirect_url', 'state', 'issuer']);
      const page = await request(here.url).get('/oauth2/authorize').set('Accept', 'text/html').expect(400);
      expect(page.type).toBe('application/json');
    });
  });

  describe('without provider', () => {
    it('gets a page to choose one, each a link that repeats the request', async () => {
      const page = await client
        .authorize(here.url)
        .expect(200)
        .expect('Content-Type', /^text\/html/);
      expect(page.text).toContain('<strong>app.example</strong>');
      const ofApp = await new StockClient(OTHERS[1]).authorize(here.url).expect(200);
      expect(ofApp.text).toContain('<strong>com.example.app</strong>');
      const links = [...page.text.matchAll(/<a href="([^"]+)">.*?<span>([\w ]+)<\/span><\/a>/gs)];
      const labels = ['Sample provider', 'stub', 'corp', 'gone', 'lost'];
      expect(links.map(([, , label]) => label)).toEqual(labels);
      const chosen = new URL(links[1]![1]!.replaceAll('&amp;', '&'), 'http://any/oauth2/authorize');
      const begun = await request(here.url)
        .get(chosen.pathname + chosen.search)
        .expect(302);
      const back = answerIn(await returnWith(here.url, begun, { code: 'ada' }).expect(302));
      expect(back['state']).toBe(client.state);
      await client.token(here.url, back['code']!).expect(200);
    });

    it.each([
      ['goes to the only one that is enabled', 'the provider'],
      ['gets an error if none is enabled', 'server_error'],
    ])('%s', async (_what, expected) => {
      const none = { DATABASE_URL: here.databaseUrl, PROVIDERS_MOCK_ENABLED: 'false' };
      const service = await startTestService(expected === 'server_error' ? none : { ...env, ...none });
      try {
        const begun = await client.authorize(service.url).expect(302);
        const isSent = begun.headers['location']!.startsWith(provider.url);
        expect(isSent ? 'the provider' : answerIn(begun)['error']).toBe(expected);
      } finally {
        await service.close();
      }
    });
  });

  it('signs in with the sample provider, which always allows the service’s own callback', async () => {
    const begun = await client.authorize(here.url, { provider: 'mock' }).expect(302);
    const { pathname, search } = new URL(begun.headers['location']!);
    const login = await request(here.url)
      .get(pathname + search)
      .expect(200);
    const [, csrf_token] = /name="csrf_token" value="([^"]+)"/.exec(login.text)!;
    const signedIn = await request(here.url)
      .post(pathname + search)
      .type('form')
      .send({ csrf_token, login: 'ada', password: 'analytical-engine' })
      .expect(302);
    const callback = new URL(signedIn.headers['location']!);
    const back = await request(there.url)
      .get(callback.pathname + callback.search)
      .expect(302);
    await client.token(there.url, answerIn(back)['code']!).expect(200);
  });

  describe('GET /providers/<name>/callback', () => {
    const begin = (name = 'stub') => client.authorize(here.url, { provider: name }).expect(302);

    it.each<[string, object, string]>([
      ['access_denied', { error: 'access_denied' }, 'access_denied'],
      ['that it is away', { error: 'temporarily_unavailable' }, 'temporarily_unavailable'],
      ['login_required', { error: 'login_required' }, 'login_required'],
      ['interaction_required', { error: 'interaction_required' }, 'interaction_required'],
      ['consent_required', { error: 'consent_required' }, 'consent_required'],
      ['which account', { error: 'account_selection_required' }, 'account_selection_required'],
      ['anything else', { error: 'invalid_scope' }, 'server_error'],
      ['a name that only begins alike', { error: 'login_required2' }, 'server_error'],
      ['an error beside a code', { error: 'access_denied', code: 'ada' }, 'access_denied'],
    ])('tells the client, of what a provider says, %s and no more', async (_name, answer, error) => {
      const said = { error_description: 'secret of the provider', error_uri: 'https://evil.example' };
      const back = await returnWith(here.url, await begin(), { ...answer, ...said }).expect(302);
      const sentence = 'this account may not sign in here, or the sign-in was cancelled';
      const ours = error === 'access_denied' && { error_description: sentence };
      expect(answerIn(back)).toEqual({ error, ...ours, state: client.state, iss: PUBLIC_URL });
      expect(provider.requests).toEqual([]);
    });

    it.each<[string, number, unknown]>([
      ['refuses the code', 400, { error: 'invalid_grant', error_description: 'secret' }],
      ['answers wrongly', 200, '<html>'],
      ['demands a step of the user (Entra ID)', 400, { error: 'interaction_required' }],
    ])('says server_error, or what the user must do, when a provider %s', async (_name, status, body) => {
      provider.answerWith(status, body);
      const back = await returnWith(here.url, await begin(), { code: 'ada' }).expect(302);
      const error = JSON.stringify(body).includes('_required') ? 'interaction_required' : 'server_error';
      expect(answerIn(back)).toEqual({ error, state: client.state, iss: PUBLIC_URL });
    });

    it('says temporarily_unavailable when a provider cannot be reached', async () => {
      const back = await returnWith(here.url, await begin('gone'), { code: 'ada' }).expect(302);
      expect(answerIn(back)['error']).toBe('temporarily_unavailable');
      provider.answer = (_request, response) => response.destroy();
      const cut = await returnWith(here.url, await begin(), { code: 'ada' }).expect(302);
      expect(answerIn(cut)['error']).toBe('temporarily_unavailable');
    });

    it('takes a ticket for a code, and a code before it', async () => {
      const signIn = async (answer: Record<string, string>): Promise<void> => {
        const back = await returnWith(here.url, await begin(), answer).expect(302);
        await client.token(here.url, answerIn(back)['code']!).expect(200);
      };
      await signIn({ ticket: 'ST-1' });
      await signIn({ ticket: 'ST-2', code: 'c-2' });
      const codes = provider.requests.map(({ body }) => new URLSearchParams(body).get('code'));
      expect(codes).toEqual(['ST-1', 'c-2']);
    });

    // The head of a request has 16 KiB: a longer code does not arrive at the callback.
    it('takes a code as long as the head of a request allows', async () => {
      provider.answerWith(200, { provider_user_id: 'long' });
      const { headers } = await returnWith(here.url, await begin(), { code: 'a'.repeat(15_000) }).expect(302);
      expect(headers['location']).toContain('?code=lkc_');
      const tooLong = { code: 'a'.repeat(16_385), state: answerIn(await begin()).state };
      await request(here.url).get('/providers/stub/callback').query(tooLong).expect(400);
    });

    it('says 400 where nothing can be trusted, and spends nothing for a fault of the request itself', async () => {
      const begun = await begin();
      const { state } = answerIn(begun);
      const call = (parameters: object) =>
        request(here.url).get('/providers/stub/callback').query(parameters);
      for (const faulty of [
        { state },
        { code: 'ada' },
        { code: 'ada', state: 'short' },
        { code: ['ada', 'bob'], state },
        { code: 'ada', state: [state, state] },
        { code: 'ada', state, iss: ['a', 'b'] },
        { code: 'a'.repeat(14_000), state: 'short' },
      ]) {
        const { status, body, headers } = await call(faulty);
        expect([status, (body as { error: string }).error, headers['location']]).toEqual([
          400,
          'invalid_request',
          undefined,
        ]);
      }
      await returnWith(here.url, begun, { code: 'ada' }).expect(302);
      const used = await returnWith(here.url, begun, { code: 'ada' }).expect(401);
      expect((used.body as { error: string }).error).toBe('invalid_grant');
      const page = await returnWith(here.url, begun, { code: 'ada' }).set('Accept', 'text/html').expect(400);
      expect(page.text).toContain('state is unknown, used or expired');
      await request(here.url).get('/providers/nobody/callback').query({ code: 'ada', state }).expect(404);
    });

    it('is limited as the token endpoint is', async () => {
      const limits = { RATE_LIMIT: 'on', RATE_LIMIT_TOKEN: '1', DATABASE_URL: here.databaseUrl };
      const service = await startTestService({ ...env, ...limits });
      try {
        const call = () => request(service.url).get('/providers/stub/callback').set('Accept', 'text/html');
        await call().expect(400);
        const limited = await call()
          .expect(429)
          .expect('Content-Type', /^text\/html/);
        expect(limited.headers['retry-after']).toMatch(/^\d+$/);
        await request(service.url).post('/oauth2/token').send({}).expect(429);
      } finally {
        await service.close();
      }
    });
  });

  describe('with an OpenID provider that announces iss', () => {
    const begin = async (code: string) => {
      const begun = await client.authorize(here.url, { provider: 'corp' }).expect(302);
      nonces.set(code, answerIn(begun)['nonce']!);
      corp.requests.length = 0;
      return begun;
    };
    const told = async (code: string, answer: Record<string, string>) =>
      answerIn(await returnWith(there.url, await begin(code), answer).expect(302));

    const logOut = () =>
      request(there.url)
        .post('/providers/corp/backchannel-logout')
        .type('form')
        .send({ logout_token: makeLogoutToken(key, { iss: corp.url, sub: 'ada' }) })
        .expect(200);

    it.each<[string, Record<string, string>]>([
      ['no iss', {}],
      ['another iss', { iss: 'https://evil.example' }],
    ])('refuses %s, before the code goes anywhere', async (_name, more) => {
      expect(await told('c-2', { code: 'c-2', ...more })).toMatchObject({ error: 'server_error' });
      expect(await told('c-3', { error: 'access_denied', ...more })).toMatchObject({ error: 'server_error' });
      expect(corp.requests.filter(({ path }) => path === '/token')).toEqual([]);
    });

    it('ends a sign-in that the provider logs out before the code is redeemed', async () => {
      const { code } = await told('c-4', { code: 'c-4', iss: corp.url });
      await logOut();
      const refused = await client.token(here.url, code!).expect(401);
      expect((refused.body as { error: string }).error).toBe('invalid_grant');
      const alive = await sql(
        `SELECT FROM refresh_tokens JOIN users USING (user_id) WHERE provider = 'corp' AND signed_out_at IS NULL`,
      );
      expect(alive).toEqual([]);
      const { code: later } = await told('c-5', { code: 'c-5', iss: corp.url });
      await client.token(here.url, later!).expect(200);
    });
  });

  describe('POST /oauth2/token with a code of ours', () => {
    const BASIC = (id: string): string => `Basic ${Buffer.from(`${id}:any secret`).toString('base64')}`;

    it.each<[string, Record<string, unknown>]>([
      ['no redirect_uri', { redirect_uri: undefined }],
      ['no code_verifier', { code_verifier: undefined }],
      ['a short one', { code_verifier: 'a'.repeat(42) }],
      ['a long client_id', { client_id: 'a'.repeat(256) }],
      ['a device_id that is none', { device_id: 'x' }],
      ['a device_name of 129 characters', { device_name: 'a'.repeat(129) }],
    ])('says 400 to %s, and spends nothing', async (_name, more) => {
      const code = await client.codeFrom(here.url);
      const { body } = await client.token(here.url, code, more).expect(400);
      expect((body as { error: string }).error).toBe('invalid_request');
      await client.token(there.url, code).set('Authorization', 'Basic %%').expect(400);
      await client.token(there.url, code).set('DPoP', 'no proof').expect(400);
      await client.token(there.url, code).expect(200);
    });

    it.each<[string, Record<string, unknown>, string]>([
      ['another verifier', { code_verifier: 'a'.repeat(43) }, ''],
      ['another redirect_uri', { redirect_uri: OTHERS[0] }, ''],
      ['another client_id', { client_id: 'another' }, ''],
      ['another client_id in Authorization', { client_id: undefined }, BASIC('another')],
      ['two that differ', {}, BASIC('another')],
    ])('says 401 to %s, and the code is spent', async (_name, more, authorization) => {
      const code = await client.codeFrom(here.url);
      const call = client.token(here.url, code, more);
      if (authorization !== '') call.set('Authorization', authorization);
      const { body } = await call.expect(401);
      expect((body as { error: string }).error).toBe('invalid_grant');
      await client.token(there.url, code).expect(401);
    });

    it.each([
      ['as it is', 'an app+one', 'an app+one'],
      ['encoded', 'an app+one', 'an+app%2Bone'],
      ['encoded more than need be', 'my-app_1.0', 'my%2Dapp%5F1%2E0'],
      ['with a percent sign', '100%', '100%'],
      ['without a name, as it may be left out', 'an app', ''],
    ])('takes the name of Authorization %s, and looks at no secret', async (_name, id, sent) => {
      const other = new StockClient(REDIRECT_URI, id);
      const code = await other.codeFrom(here.url);
      const more = { client_id: undefined, client_secret: 'whatever' };
      await other.token(here.url, code, more).set('Authorization', BASIC(sent)).expect(200);
    });

    it('needs no client_id and no grant_type, and takes JSON', async () => {
      const code = await client.codeFrom(here.url);
      const body = client.tokenRequest(code, { client_id: undefined, grant_type: undefined });
      await request(here.url).post('/oauth2/token').send(body).set('Authorization', 'Bearer x').expect(200);
    });

    it('keeps the device, the User-Agent and the key of the client', async () => {
      const [device_id, key_] = [randomUUID(), new ClientKey()];
      const proof = () => key_.proof(`${PUBLIC_URL}/oauth2/token`);
      const code = await client.codeFrom(here.url);
      const { body } = await client
        .token(here.url, code, { device_id, device_name: 'a phone' })
        .set('User-Agent', 'stock/1.0')
        .set('DPoP', proof())
        .expect(200);
      const { refresh_token, user_id } = body as Tokens;
      expect(
        await sql('SELECT device_name, user_agent FROM devices WHERE device_id = $1', [device_id]),
      ).toEqual([{ device_name: 'a phone', user_agent: 'stock/1.0' }]);
      expect(await sql('SELECT jkt FROM refresh_tokens WHERE user_id = $1', [user_id])).toEqual([
        { jkt: key_.thumbprint },
      ]);
      const refresh = () =>
        request(there.url).post('/oauth2/token').send({ grant_type: 'refresh_token', refresh_token });
      await refresh().expect(400);
      await refresh().set('DPoP', proof()).expect(200);
    });

    it('8 racers for one code, on two instances: one 200, the rest 401', async () => {
      for (let round = 0; round < 2; round++) {
        const user = randomUUID();
        const code = await client.codeFrom(here.url, { code: user });
        const at = (i: number) => (i % 2 ? here : there).url;
        const racers = Array.from({ length: 8 }, (_, i) => client.token(at(i), code));
        const statuses = (await Promise.all(racers)).map(({ status }) => status).toSorted((a, b) => a - b);
        expect(statuses).toEqual([200, ...Array<number>(7).fill(401)]);
        const count = `SELECT FROM refresh_tokens JOIN users USING (user_id) WHERE provider_user_id = $1`;
        expect(await sql(count, [user])).toHaveLength(1);
      }
    });

    it('takes no notice of a state of the client’s own, which some send along', async () => {
      for (const state of [client.state, 'e'.repeat(63)]) {
        const code = await client.codeFrom(here.url);
        await client.token(here.url, code, { state }).expect(200);
      }
      const code = await client.codeFrom(here.url);
      await client.token(here.url, code, { state: ['a', 'b'] }).expect(400); // given twice
      await client.token(here.url, code).expect(200);
    });

    it('is not the provider’s, even if that is a Latchkey, too: with a state it goes there (spec §4.3)', async () => {
      const state = await beginSignIn(here.url, { redirect_uri: 'https://stub-only.example/cb' });
      const code = `lkc_${'a'.repeat(43)}`;
      await request(here.url).post('/oauth2/token').send({ code, state }).expect(200);
      expect(new URLSearchParams(provider.requests[0]!.body).get('code')).toBe(code);
      const { body } = await client.token(here.url, 'a code of a provider').expect(400);
      expect(body).toEqual({ error: 'invalid_request', error_description: 'state is required' });
    });
  });
});

import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { asBrowser, eventsOf, HERE } from '../support/audit.js';
import { dump } from '../support/database.js';
import { OpenIdStub } from '../support/openid-stub.js';
import { Scrape } from '../support/scrape.js';
import { bearer, beginSignIn, signIn } from '../support/sign-in.js';
import { SERVICE_KEY, startTestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';

const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';

interface Result {
  readonly identity: object | null;
  readonly error?: string;
  readonly reason?: string;
  readonly claims_received: Record<string, unknown> | null;
  readonly claims_kept: object;
  readonly claims_dropped: { readonly name: string; readonly why: string }[];
  readonly directory: string | null;
  readonly allow: object | null;
}

/**
 * POST /admin/providers/:name/test: a sign-in that only shows what the provider sends
 * (docs/administration.md#the-views).
 */
describe('a test sign-in', () => {
  let stub: StubProvider;
  let corp: OpenIdStub;

  beforeAll(async () => {
    [stub, corp] = await Promise.all([StubProvider.start(), OpenIdStub.start()]);
  });
  afterAll(() => Promise.all([stub?.close(), corp?.close()]));
  const service = use(() =>
    startTestService({
      ...stub.env(),
      PROVIDERS_CORP_ADAPTER: 'oidc',
      PROVIDERS_CORP_URL: corp.url,
      PROVIDERS_CORP_CLIENT_ID: 'latchkey',
      PROVIDERS_CORP_CLIENT_SECRET: 'a client secret',
      PROVIDERS_CORP_CLAIMS: 'roles=realm.roles,plan=plan,tier=tier',
      PROVIDERS_CORP_ALLOW: 'email_domain=corp.example&claim:tier, claim:roles=staff',
      PROVIDERS_APPLE_ADAPTER: 'oidc',
      PROVIDERS_APPLE_URL: corp.url,
      PROVIDERS_APPLE_CLIENT_ID: 'latchkey',
      PROVIDERS_APPLE_CLIENT_SECRET: 'a client secret',
      PROVIDERS_APPLE_RESPONSE_MODE: 'form_post',
      REDIRECT_URIS: 'https://app.example/cb',
      SERVICE_KEYS: SERVICE_KEY,
    }),
  );
  beforeEach(() => {
    stub.reset();
    corp.reset();
    stub.claims.clear();
  });

  const test = (provider: string, body: object = {}): request.Test =>
    bearer(service.url, SERVICE_KEY).post(`/admin/providers/${provider}/test`, body);

  async function begin(provider: string): Promise<{ redirect_url: string; state: string }> {
    return (await test(provider).expect(200)).body as { redirect_url: string; state: string };
  }

  async function finish(provider: string, code: string): Promise<Result> {
    const { state } = await begin(provider);
    return (await test(provider, { code, state }).expect(200)).body as Result;
  }

  /** Signs in at the OpenID provider; returns the query of the callback. */
  async function callbackOfCorp(): Promise<Record<string, string>> {
    corp.callback = { code: 'a-code' };
    const { redirect_url } = await begin('corp');
    const { headers } = await fetch(redirect_url, { redirect: 'manual' });
    const url = new URL(headers.get('location')!);
    expect(url.origin + url.pathname).toBe(`${service.url}/admin/callback`);
    return Object.fromEntries(url.searchParams);
  }

  it('of a contract provider shows the identity, and the claims received, kept and dropped', async () => {
    stub.claims.set('u-1', { roles: ['editor'], plan: 'gold', sub: 'x' });
    const { redirect_url, state } = await begin('stub');
    const asked = new URL(redirect_url).searchParams;
    expect([asked.get('state'), asked.get('redirect_uri')]).toEqual([state, `${service.url}/admin/callback`]);
    const { body } = await test('stub', { code: 'u-1', state }).expect(200);
    const claims = { roles: ['editor'], plan: 'gold', sub: 'x' };
    expect(body).toEqual({
      identity: { provider_user_id: 'u-1', username: 'Ada', email: null, avatar_url: null },
      claims_received: { provider_user_id: 'u-1', username: 'Ada', claims },
      claims_kept: { roles: ['editor'], plan: 'gold' },
      claims_dropped: [
        { name: 'email', why: 'the provider did not send it' },
        { name: 'avatar_url', why: 'the provider did not send it' },
      ],
      directory: null,
      allow: null,
    });
    expect(stub.requests.at(-1)!.body).toContain(encodeURIComponent(`${service.url}/admin/callback`));
  });

  it('of an OpenID provider says why each claim was dropped', async () => {
    corp.claims = {
      sub: 'ada',
      realm: { roles: ['editor'] },
      plan: 7,
      email: 'a@x.example',
      email_verified: false,
      acr: 'gold',
      amr: 'no list',
    };
    const { body } = (await test('corp', await callbackOfCorp()).expect(200)) as { body: Result };
    expect(body.identity).toMatchObject({ provider_user_id: 'ada', email: null });
    expect(body.claims_received).toMatchObject({ sub: 'ada', plan: 7 });
    expect(body.claims_kept).toEqual({ roles: ['editor'], plan: 7 });
    const why = new Map(body.claims_dropped.map((one) => [one.name, one.why]));
    expect(why.get('email')).toBe('the provider calls it unverified');
    expect(why.get('tier')).toBe('the provider did not send it');
    expect(why.get('nonce')).toContain('of the protocol');
    expect(why.get('amr')).toContain('of the protocol');
    expect(['realm', 'sub', 'acr'].filter((name) => why.has(name))).toEqual([]);
  });

  it.each<[object, object]>([
    [{ realm: { roles: ['editor', 'staff'] } }, { allowed: true, by: 'claim:roles=staff', reason: null }],
    [
      { email: 'ada@corp.example', email_verified: true, tier: 'gold' },
      { allowed: true, by: 'email_domain=corp.example&claim:tier', reason: null },
    ],
    [
      { email: 'ada@corp.example', tier: 'gold' },
      { allowed: false, by: null, reason: 'email_domain' },
    ],
    [
      { email: 'ada@corp.example', email_verified: true },
      { allowed: false, by: null, reason: 'claim' },
    ],
  ])('of an account with %j has the verdict of allow, and the identity: %j', async (claims, allow) => {
    corp.claims = { sub: 'ada', ...claims };
    const { body } = await test('corp', await callbackOfCorp()).expect(200);
    expect(body).toMatchObject({ identity: { provider_user_id: 'ada' }, allow });
  });

  it('is of a provider whose rule the list has', async () => {
    const { body } = await bearer(service.url, SERVICE_KEY).get('/admin/providers').expect(200);
    const { providers } = body as { providers: { name: string; allow: string | null }[] };
    const rules = Object.fromEntries(providers.map(({ name, allow }) => [name, allow]));
    expect(rules).toMatchObject({
      corp: 'email_domain=corp.example&claim:tier, claim:roles=staff',
      stub: null,
    });
  });

  it('that fails says what the provider said, without secrets', async () => {
    stub.answerWith(401, {
      error: 'invalid_client',
      error_description: 'a client secret of the stub is old',
    });
    const refused = await finish('stub', 'the-code-of-a-test');
    expect(refused).toMatchObject({
      identity: null,
      error: 'invalid_client',
      claims_received: null,
      claims_kept: {},
    });
    expect(refused.reason).toMatch(
      /^invalid_client \(\*\*\* is old\), HTTP 401 from .*; look at .*CLIENT_SECRET/,
    );
    stub.answerWith(200, { id: 7, name: 'Ada' });
    const unusable = await finish('stub', 'c');
    expect(unusable).toMatchObject({ identity: null, error: 'server_error', claims_received: { id: 7 } });
    expect(unusable.reason).toContain('no usable provider_user_id');
    expect(unusable.claims_dropped.map(({ name }) => name)).toContain('id');
  });

  it('compares iss (RFC 9207)', async () => {
    const { body } = await test('corp', { ...(await callbackOfCorp()), iss: 'https://evil.example' }).expect(
      200,
    );
    expect(body).toMatchObject({ identity: null, error: 'invalid_grant' });
    expect(body.reason).toContain('another issuer');
    expect(corp.paths).not.toContain('/token');
  });

  it('signs nobody in, writes only that there was a test, and is in no number', async () => {
    const scrape = async (): Promise<Scrape> =>
      new Scrape((await bearer(service.url, SERVICE_KEY).get('/metrics').expect(200)).text);
    const written = async (): Promise<string> =>
      (await dump(service.databaseUrl)).replace(/^audit_events .*,provider_tested,.*\n/gm, '');
    const before = [await written(), await scrape()] as const;
    const good = await finish('stub', randomUUID());
    expect(JSON.stringify(good)).not.toMatch(/token|lkr_/);
    stub.answerWith(400, { error: 'invalid_grant' });
    await finish('stub', 'bad');
    await test('stub', { code: 'c', state: 'ab'.repeat(32) }).expect(401);
    const after = [await written(), await scrape()] as const;
    expect(after[0]).toEqual(before[0]);
    for (const name of ['latchkey_sign_ins_total', 'latchkey_sign_ins_refused_total'])
      expect(after[1].sum(name)).toBe(before[1].sum(name));
  });

  it('is in the audit trail, with the administrator', async () => {
    const { access_token, user_id } = await signIn(service.url, 'an administrator');
    const claims = { roles: ['latchkey-admin'] };
    await bearer(service.url, SERVICE_KEY).put(`/users/${user_id}/claims`, { claims }).expect(200);
    const as = (body: object = {}): request.Test =>
      asBrowser(service.url, access_token).post('/admin/providers/stub/test', body);
    const finished = async (): Promise<void> => {
      const { state } = (await as().expect(200)).body as { state: string };
      await as({ code: 'c0de', state }).expect(200);
    };
    const events = await eventsOf(service.databaseUrl, 2, async () => {
      await finished();
      stub.answerWith(400, { error: 'invalid_grant', error_description: 'c0de is old' });
      await finished();
    });
    const common = {
      event: 'provider_tested',
      provider: 'stub',
      actor: { type: 'user', name: user_id },
      ...HERE,
    };
    expect(events).toEqual([
      { ...common, result: 'ok' },
      { ...common, result: 'refused', error: 'invalid_grant', reason: expect.stringContaining('*** is old') },
    ]);
  });

  describe('has a state of its own', () => {
    it('which is used once, at its provider', async () => {
      const { state } = await begin('stub');
      await test('stub', { code: 'c', state }).expect(200);
      await test('stub', { code: 'c', state }).expect(401);
      const other = await begin('stub');
      const { body } = await test('corp', { code: 'c', state: other.state }).expect(401);
      expect(body).toEqual({ error: 'invalid_grant', error_description: 'state is of another provider' });
      await test('stub', { code: 'c', state: other.state }).expect(401);
      expect(stub.requests).toHaveLength(1);
    });

    it('which no other flow redeems', async () => {
      const { state } = await begin('stub');
      const form = { code: 'c', state };
      const { body } = await request(service.url).post('/oauth2/token').send(form).expect(401);
      expect(body.error).toBe('invalid_grant');
      for (const call of [
        request(service.url).get('/providers/stub/callback').query(form),
        request(service.url).post('/providers/stub/callback').send(form),
        request(service.url)
          .post('/oauth2/token')
          .send({ code: 'c', state: `test ${state}` }),
        request(service.url).post('/oauth2/token').send({ code: 'c', state: state.toUpperCase() }),
      ])
        expect((await call).status).toBeGreaterThanOrEqual(400);
      await request(service.url)
        .post('/oauth2/callback-error')
        .send({ state, error: 'cancelled' })
        .expect(204);
      expect(stub.requests).toEqual([]);
      await test('stub', form).expect(200);
    });

    it('and spends no state of another flow', async () => {
      const ofClient = await beginSignIn(service.url);
      const query = { provider: 'stub', client_id: 'app', redirect_uri: 'https://app.example/cb' };
      const { headers } = await request(service.url)
        .get('/oauth2/authorize')
        .query({ ...query, response_type: 'code', code_challenge: CHALLENGE, code_challenge_method: 'S256' })
        .expect(302);
      const ofStock = new URL(headers['location']!).searchParams.get('state')!;
      for (const state of [ofClient, ofStock]) {
        const { body } = await test('stub', { code: 'c', state }).expect(401);
        expect(body.error).toBe('invalid_grant');
      }
      expect(stub.requests).toEqual([]);
      await request(service.url).post('/oauth2/token').send({ code: 'c', state: ofClient }).expect(200);
      const back = await request(service.url)
        .get('/providers/stub/callback')
        .query({ code: 'c', state: ofStock });
      expect(back.headers['location']).toContain('https://app.example/cb?code=lkc_');
    });
  });

  it('of a provider that posts the code comes back to the page', async () => {
    const { redirect_url, state } = await begin('apple');
    const asked = new URL(redirect_url).searchParams;
    const callback = '/providers/apple/callback';
    expect(asked.get('redirect_uri')).toBe(service.url + callback);
    const { headers } = await request(service.url)
      .post(callback)
      .type('form')
      .send({ code: 'c', state })
      .expect(303);
    const page = new URL(headers['location']!);
    expect(page.origin + page.pathname).toBe(`${service.url}/admin/callback`);
    expect(Object.fromEntries(page.searchParams)).toEqual({ code: 'c', state });
    // In the other flows the nonce would be missing as well: only that the code arrives is of interest.
    await test('apple', { code: 'c', state }).expect(200);
    expect(corp.paths).toContain('/token');
  });

  it.each([
    [{ code: 'c' }, 400, 'invalid_request'],
    [{ state: 'ab'.repeat(32) }, 400, 'invalid_request'],
    [{ code: 'c', state: 'x' }, 400, 'invalid_request'],
    [{ code: 'c', state: 'ab'.repeat(32) }, 401, 'invalid_grant'],
  ])('refuses %j with %d', async (body, status, error) => {
    expect((await test('stub', body).expect(status)).body).toMatchObject({ error });
  });

  it('needs a configured provider', async () => {
    expect((await test('nobody').expect(404)).body).toMatchObject({ error: 'not_found' });
  });
});

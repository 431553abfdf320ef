import { createHash, randomUUID } from 'node:crypto';
import request from 'supertest';
import { ChannelHistory } from '../../src/channel/channel.history.js';
import { SignOutService } from '../../src/device/sign-out.service.js';
import { hashOfName } from '../../src/token/sessions/recent-ends.js';
import { NOWHERE } from '../support/audit.js';
import { authorization, bearer, claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { OidcIssuer, Person, TamperingProxy } from '../support/oidc-issuer.js';
import { dump, query } from '../support/database.js';
import { startTestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';
import { prepare, use } from '../support/use.js';

const REDIRECT_URI = 'https://app.example/signed-out?a=1';
const DISCOVERY = '/.well-known/openid-configuration';

/** Providers with the same issuer: each fetches the discovery document for itself, once. */
const NAMES = ['corp', 'off', 'without', 'query', 'script', 'refusing', 'broken', 'slow'];

/**
 * Sign-out at the provider as well (OpenID Connect RP-Initiated Logout 1.0;
 * docs/provider-sign-out.md#from-your-application).
 */
describe('POST /sign-out with provider_logout', () => {
  const proxy = use(() => TamperingProxy.start());
  const issuer = use(() => OidcIssuer.behind(proxy));
  const stub = use(() => StubProvider.start());
  const service = use(() => {
    const openId = NAMES.flatMap((name) => [
      [`providers.${name}.adapter`, 'oidc'],
      [`providers.${name}.url`, proxy.url],
      [`providers.${name}.client_id`, 'latchkey'],
      [`providers.${name}.client_secret`, 'a client secret of the issuer'],
    ]);
    return startTestService({
      ...(Object.fromEntries(openId) as Record<string, string>),
      ...stub.env(),
      'providers.off.keep_id_token': 'off',
      REDIRECT_URIS: 'https://app.example/cb?a=1',
    });
  });
  beforeAll(() => {
    const redirect_uris = [
      'https://app.example/cb?a=1',
      `${service.settings.publicUrl}/providers/corp/callback`,
    ];
    issuer.restart({ client: { post_logout_redirect_uris: [REDIRECT_URI], redirect_uris } });
  });
  beforeEach(() => proxy.reset());

  const signOut = (
    { access_token }: Tokens,
    body: object = { provider_logout: { redirect_uri: REDIRECT_URI } },
  ) => bearer(service.url, access_token).post('/sign-out', body);
  const isIn = async ({ access_token }: Tokens): Promise<boolean> =>
    (await bearer(service.url, access_token).get('/me')).status === 200;

  /** A user of a provider that has not been asked for anything yet. */
  async function userOf(provider: string): Promise<Tokens> {
    const tokens = await signIn(service.url, randomUUID(), { device_id: randomUUID() });
    const move = 'UPDATE users SET provider = $2 WHERE user_id = $1';
    await query(service.databaseUrl, move, [tokens.user_id, provider]);
    return tokens;
  }

  it('ends the session with the provider, and the browser at the redirect URI', async () => {
    const ada = new Person('ada@corp/ö&x=1');
    const authorize = async () => {
      const { body } = await request(service.url)
        .get('/oauth2/authorize')
        .query({ provider: 'corp' })
        .expect(200);
      proxy.requests.length = 0;
      const callback = await ada.authorize((body as { redirect_url: string }).redirect_url);
      return Object.fromEntries(callback.searchParams);
    };
    const callback = await authorize();
    expect(proxy.count('/interaction/')).toBe(1);
    const tokens = (await request(service.url).post('/oauth2/token').send(callback).expect(200))
      .body as Tokens;
    await authorize();
    expect(proxy.count('/interaction/')).toBe(0); // the provider remembers them

    const { body, headers } = await signOut(tokens).expect(200);
    expect(body).toEqual({ redirect_url: expect.any(String) });
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(await isIn(tokens)).toBe(false);
    const url = new URL((body as { redirect_url: string }).redirect_url);
    expect([url.origin, url.pathname]).toEqual([proxy.url, '/session/end']);
    const { id_token_hint: idToken, ...others } = Object.fromEntries(url.searchParams);
    expect(others).toEqual({
      client_id: 'latchkey',
      post_logout_redirect_uri: REDIRECT_URI,
      logout_hint: 'ada@corp/ö&x=1',
    });
    expect(claimsOf(idToken!)).toMatchObject({ iss: proxy.url, aud: 'latchkey' });
    expect((await ada.logOut(url)).headers.get('Location')).toBe(REDIRECT_URI);
    await authorize();
    expect(proxy.count('/interaction/')).toBe(1);
  });

  describe('keep_id_token', () => {
    const kept = () =>
      query<{ idToken: Buffer | null; sessionId: string }>(
        service.databaseUrl,
        'SELECT id_token AS "idToken", session_id AS "sessionId" FROM refresh_tokens ORDER BY created_at DESC',
      );
    const signInAt = async (name: string): Promise<Tokens> => {
      const { redirect_url } = await authorization(service.url, { provider: name });
      const callback = await new Person(`${name}-user`).authorize(redirect_url);
      const { body } = await request(service.url)
        .post('/oauth2/token')
        .send({ ...Object.fromEntries(callback.searchParams), device_id: randomUUID() })
        .expect(200);
      return body as Tokens;
    };
    const hintOf = async (tokens: Tokens): Promise<string | null> => {
      const { body } = await signOut(tokens).expect(200);
      return new URL((body as { redirect_url: string }).redirect_url).searchParams.get('id_token_hint');
    };

    it('keeps the token encrypted, for this session only, until it ends', async () => {
      const seen = service.log.length;
      const tokens = await signInAt('corp');
      const [row] = await kept();
      expect(row!.idToken!.length).toBeGreaterThan(100);
      expect(row!.idToken!.includes('eyJ')).toBe(false);
      const rows = await dump(service.databaseUrl);
      const idToken = (await hintOf(tokens))!;
      for (const part of [idToken, idToken.split('.')[1]!]) {
        expect(rows).not.toContain(part);
        expect(rows).not.toContain(Buffer.from(part).toString('hex'));
        expect(service.log.slice(seen).join('')).not.toContain(part);
      }
      expect((await kept())[0]).toMatchObject({ idToken: null });
    });

    it.each(['/sign-out', '/oauth2/revoke', 'device', 'logout of the provider'])(
      'is deleted by every kind of sign-out: %s',
      async (kind) => {
        const tokens = await signInAt('corp');
        const as = bearer(service.url, tokens.access_token);
        if (kind === '/sign-out') await as.post(kind, { scope: 'all' }).expect(204);
        if (kind === '/oauth2/revoke')
          await request(service.url).post(kind).send({ token: tokens.refresh_token }).expect(200);
        if (kind === 'device')
          await as.delete(`/devices/${claimsOf(tokens.access_token)['device_id'] as string}`).expect(204);
        if (kind === 'logout of the provider') {
          const names = { session: null, subjects: [hashOfName('corp', 'corp-user')] };
          const signOuts = service.app.get(SignOutService);
          const history = service.app.get(ChannelHistory);
          const options = { cause: 'provider_ended', until: null } as const;
          await history.transaction((transaction) =>
            signOuts.endSliceOf([tokens.user_id], names, transaction, NOWHERE, options),
          );
        }
        expect((await kept()).filter(({ idToken }) => idToken !== null)).toEqual([]);
      },
    );

    it.each([
      ['another session’s token', (other: Buffer) => other],
      ['bytes of another SECRET_KEY', (other: Buffer) => Buffer.alloc(other.length)],
      ['too few bytes', () => Buffer.alloc(3)],
    ])('leaves out what it cannot decrypt: %s', async (_name, change) => {
      const tokens = await signInAt('corp');
      const { idToken: other } = (await signInAt('corp'), (await kept())[0]!);
      const put = 'UPDATE refresh_tokens SET id_token = $2 WHERE session_id = $1';
      await query(service.databaseUrl, put, [claimsOf(tokens.access_token)['sid'], change(other!)]);
      expect(await hintOf(tokens)).toBeNull();
    });

    it('keeps none if it is off', async () => {
      const tokens = await signInAt('off');
      expect((await kept())[0]).toMatchObject({ idToken: null });
      expect(await hintOf(tokens)).toBeNull();
    });

    it('keeps the token of a stock client’s sign-in, encrypted while the code waits as well', async () => {
      const code_verifier = 'v'.repeat(43);
      const redirect_uri = 'https://app.example/cb?a=1';
      const { headers } = await request(service.url)
        .get('/oauth2/authorize')
        .query({
          provider: 'corp',
          response_type: 'code',
          client_id: 'shop',
          redirect_uri,
          code_challenge: createHash('sha256').update(code_verifier).digest('base64url'),
          code_challenge_method: 'S256',
        });
      const callback = await new Person('stock').authorize(headers['location'] as string);
      const { headers: back } = await request(service.url)
        .get(callback.pathname + callback.search)
        .expect(302);
      const rows = await query<{ identity: { idToken: string } }>(
        service.databaseUrl,
        'SELECT identity FROM authorization_codes',
      );
      expect(Buffer.from(rows[0]!.identity.idToken, 'base64').includes('eyJ')).toBe(false);
      expect(rows[0]!.identity.idToken).not.toMatch(/^eyJ/);
      const code = new URL(back['location'] as string).searchParams.get('code');
      const { body } = await request(service.url)
        .post('/oauth2/token')
        .send({ code, redirect_uri, code_verifier })
        .expect(200);
      expect(claimsOf((await hintOf(body as Tokens))!)).toMatchObject({ sub: 'stock' });
    });
  });

  it.each([
    ['current', {}, true],
    ['all', { scope: 'all' }, false],
  ])('goes with the scope %s', async (_name, scope, othersStay) => {
    const tokens = await userOf('corp');
    const [{ code }] = (await query<{ code: string }>(
      service.databaseUrl,
      'SELECT provider_user_id AS code FROM users WHERE user_id = $1',
      [tokens.user_id],
    )) as [{ code: string }];
    const other = await signIn(service.url, code, { device_id: randomUUID() });
    const redirect_uri = 'com.example.app:/signed-out'; // on no list of ours
    const { body } = await signOut(tokens, { ...scope, provider_logout: { redirect_uri, else: [] } }).expect(
      200,
    );
    const { searchParams } = new URL((body as { redirect_url: string }).redirect_url);
    expect(searchParams.get('post_logout_redirect_uri')).toBe(redirect_uri);
    expect([await isIn(tokens), await isIn(other)]).toEqual([false, othersStay]);
  });

  it('keeps the query of the end_session_endpoint', async () => {
    proxy.tamper = (_path, body) => ({
      ...body,
      end_session_endpoint: 'http://idp.example/end?tenant=a&p=b%26c',
    });
    const { body } = await signOut(await userOf('query')).expect(200);
    const { searchParams } = new URL((body as { redirect_url: string }).redirect_url);
    expect([...searchParams.keys()].toSorted()).toEqual([
      'client_id',
      'logout_hint',
      'p',
      'post_logout_redirect_uri',
      'tenant',
    ]);
    expect([searchParams.get('tenant'), searchParams.get('p')]).toEqual(['a', 'b&c']);
  });

  it.each([
    ['has no such endpoint', 'without', { end_session_endpoint: undefined }],
    ['has a script in its place', 'script', { end_session_endpoint: 'javascript:alert(1)' }],
    ['is none of OpenID Connect', 'stub', {}],
    ['is not enabled any more', 'gone', {}],
  ])('where the provider %s: 204', async (_name, name, more) => {
    proxy.tamper = (path, body) => (path === DISCOVERY ? { ...body, ...more } : undefined);
    const tokens = await userOf(name);
    await signOut(tokens).expect(204, '');
    expect(await isIn(tokens)).toBe(false);
    const isWarned = service.log.some((line) => line.includes(`provider ${name} did not return its logout`));
    expect(isWarned).toBe(name === 'script');
  });

  it('where the provider is away, broken or slow: 204, after 2 s at most', async () => {
    const took: number[] = [];
    for (const [name, answer] of [
      ['refusing', (response) => response.destroy()],
      ['broken', (response) => response.writeHead(500).end('<html>')],
      ['slow', () => undefined],
    ] as const satisfies [string, (response: Parameters<TamperingProxy['intercept']>[1]) => unknown][]) {
      proxy.intercept = (_path, response) => (answer(response), true);
      const tokens = await userOf(name);
      const began = performance.now();
      await signOut(tokens).expect(204, '');
      took.push(performance.now() - began);
      expect(await isIn(tokens)).toBe(false);
      const line = service.log.find((one) => one.includes(`provider ${name} did not return its logout page`));
      expect(JSON.parse(line ?? '{}')).toMatchObject({ level: 'warn' });
    }
    expect(Math.max(...took)).toBeLessThan(2500);
    proxy.reset();
    expect((await signOut(await userOf('refusing'))).status).toBe(200); // it is asked again
  });

  it('asks nobody without provider_logout', async () => {
    const tokens = await userOf('corp');
    await signOut(tokens, { provider_logout: null }).expect(204, '');
    expect(proxy.requests).toEqual([]);
  });

  describe('what is refused', () => {
    let before: string;
    const tokens = prepare(() => userOf('corp'));
    beforeAll(async () => {
      // So that nothing writes while a test looks at all rows.
      await query(service.databaseUrl, `UPDATE devices SET last_seen_at = now() + interval '1 day'`);
      before = await dump(service.databaseUrl);
    });
    afterAll(async () => {
      expect(await dump(service.databaseUrl)).toBe(before);
    });

    const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
    it.each([
      ['with others', JSON.stringify({ scope: 'others', provider_logout: { redirect_uri: REDIRECT_URI } })],
      ...['text', 7, [{ redirect_uri: REDIRECT_URI }], {}, { redirect_uri: null }].map((value) => [
        `provider_logout ${JSON.stringify(value)}`,
        JSON.stringify({ provider_logout: value }),
      ]),
      ...[
        '',
        7,
        'javascript:alert(1)',
        '/signed-out',
        'https://ada@app.example/',
        'https://app.example/#x',
        'https://app.example/\r\nX: y',
        `https://app.example/${'x'.repeat(2049)}`,
      ].map((value) => [
        `redirect_uri ${JSON.stringify(value).slice(0, 40)}`,
        JSON.stringify({ provider_logout: { redirect_uri: value } }),
      ]),
      ['too deep', `{"provider_logout": {"redirect_uri": "${REDIRECT_URI}", "x": ${deep(100)}}}`],
      ['very deep', `{"provider_logout": ${deep(30_000)}}`],
      ['a prototype', `{"provider_logout": {"__proto__": {"redirect_uri": "${REDIRECT_URI}"}}}`],
    ])('%s: and nothing has ended', async (_name, body) => {
      const response = await request(service.url)
        .post('/sign-out')
        .set('Authorization', `Bearer ${tokens.access_token}`)
        .type('json')
        .send(body);
      expect([response.status, response.body]).toEqual([
        400,
        {
          error: 'invalid_request',
          error_description: expect.stringMatching(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/),
        },
      ]);
      expect(proxy.requests).toEqual([]);
    });
  });
});

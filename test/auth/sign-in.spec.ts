import { JwtService } from '@nestjs/jwt';
import { createPublicKey, randomUUID } from 'node:crypto';
import request from 'supertest';
import type { PublishedJwk } from '../../src/token/keys/key-ring.js';
import { dump, query } from '../support/database.js';
import { beginSignIn, claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { useService } from '../support/use.js';

const CALLBACK = 'https://app.example/callback';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

describe('signing in (spec §4.2 to §4.4)', () => {
  const { provider, service } = useService({ REDIRECT_URIS: `${CALLBACK},http://localhost/cb` });
  beforeEach(() => provider.reset());

  describe('GET /oauth2/authorize', () => {
    it("gives the provider's page with state, client_id and redirect_uri (spec §4.5.1)", async () => {
      const { body } = await request(service.url)
        .get('/oauth2/authorize')
        .query({ provider: 'stub', redirect_uri: CALLBACK })
        .expect(200)
        .expect('Content-Type', 'application/json; charset=utf-8');
      expect(Object.keys(body as object).toSorted()).toEqual(['issuer', 'redirect_url', 'state']);
      const { redirect_url, state, issuer } = body as Record<'redirect_url' | 'state' | 'issuer', string>;
      expect(issuer).toBe(service.settings.publicUrl);
      expect(state).toMatch(/^[0-9a-f]{64}$/);
      const expected = new URLSearchParams({ state, client_id: 'latchkey', redirect_uri: CALLBACK });
      expect(redirect_url).toBe(`${provider.url}/oauth2/authorize?${expected.toString()}`);
    });
  });

  describe('POST /oauth2/token', () => {
    it('exchanges code and state for tokens', async () => {
      const state = await beginSignIn(service.url);
      const { body, headers } = await request(service.url)
        .post('/oauth2/token')
        .send({ code: 'ada', state })
        .expect(200);
      expect(body).toEqual({
        access_token: expect.any(String),
        token_type: 'Bearer',
        refresh_token: expect.any(String),
        expires_in: 3600,
        user_id: expect.stringMatching(UUID),
      });
      expect(headers['cache-control']).toBe('no-store');
    });

    it('issues an ES256 JWT that verifies with the published keys', async () => {
      const device_id = randomUUID().toUpperCase();
      const tokens = await signIn(service.url, 'ada', { device_id });
      const { body } = await request(service.url).get('/.well-known/jwks.json').expect(200);
      const { keys } = body as { keys: PublishedJwk[] };
      expect(keys).toHaveLength(1);
      expect(Object.keys(keys[0]!).toSorted()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);

      const publicKey = createPublicKey({ key: { ...keys[0]! }, format: 'jwk' }).export({
        format: 'pem',
        type: 'spki',
      });
      const { header, payload } = new JwtService().verify<{
        header: object;
        payload: Record<string, unknown>;
      }>(tokens.access_token, {
        publicKey,
        algorithms: ['ES256'],
        issuer: service.url,
        audience: service.url,
        complete: true,
      });
      expect(header).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: keys[0]!.kid });
      expect(payload).toEqual({
        iss: service.url,
        aud: service.url,
        sub: tokens.user_id,
        sid: expect.stringMatching(UUID),
        jti: expect.stringMatching(UUID),
        device_id: device_id.toLowerCase(),
        client_id: 'latchkey', // RFC 9068 §2.2
        iat: expect.any(Number),
        exp: (payload['iat'] as number) + 3600,
      });
      expect(Math.abs((payload['iat'] as number) - Date.now() / 1000)).toBeLessThan(5);
    });

    it('stores the access token in plaintext (spec §2.1), of the refresh token a hash only (spec §2.2), of the code nothing', async () => {
      const code = `code-${randomUUID()}`;
      const { access_token, refresh_token } = await signIn(service.url, code);
      const [row] = await query(
        service.databaseUrl,
        'SELECT count(*)::int AS n FROM access_tokens WHERE token = $1',
        [access_token],
      );
      expect(row).toEqual({ n: 1 });
      const everything = await dump(service.databaseUrl, { refusals: true });
      expect(everything).not.toContain(refresh_token);
      expect(everything).not.toContain(Buffer.from(refresh_token).toString('hex'));
      const [stored] = await query(
        service.databaseUrl,
        `SELECT extract(epoch FROM expires_at - created_at)::int AS ttl FROM refresh_tokens
         WHERE token_hash = sha256($1)`,
        [Buffer.from(refresh_token)],
      );
      expect(stored).toEqual({ ttl: 30 * 24 * 3600 });
    });

    it('uses up a state, whatever the result: a second exchange is invalid_grant', async () => {
      const state = await beginSignIn(service.url);
      provider.answerWith(400, { error: 'invalid_grant', error_description: 'used' });
      await request(service.url).post('/oauth2/token').send({ code: 'x', state }).expect(401);
      provider.reset();
      await request(service.url)
        .post('/oauth2/token')
        .send({ code: 'x', state })
        .expect(401, { error: 'invalid_grant', error_description: 'state is unknown, used or expired' });
      expect(provider.requests).toHaveLength(0);
    });
  });

  it.each([
    ['username', 'B'],
    ['email', 'b@x.example'],
    ['avatar_url', undefined], // cleared
  ])('%s is updated even if nothing else has changed', async (field, value) => {
    const provider_user_id = `only-${field}`;
    const before = { username: 'A', email: 'a@x.example', avatar_url: 'https://x.example/a' };
    provider.answerWith(200, { provider_user_id, ...before });
    await signIn(service.url);
    provider.answerWith(200, { provider_user_id, ...before, [field]: value });
    const { user_id } = await signIn(service.url);
    const columns = 'username, email, avatar_url';
    expect(
      await query(service.databaseUrl, `SELECT ${columns} FROM users WHERE user_id = $1`, [user_id]),
    ).toEqual([{ ...before, [field]: value ?? null }]);
  });

  it('users are not joined by e-mail', async () => {
    const users = [];
    for (const provider_user_id of ['p1', 'p2']) {
      provider.answerWith(200, { provider_user_id, email: 'p@x.example' });
      users.push((await signIn(service.url)).user_id);
    }
    expect(users[0]).not.toBe(users[1]);
  });

  describe('devices (spec §2.4)', () => {
    const devices = (userId: string) =>
      query(
        service.databaseUrl,
        'SELECT device_id, device_name, user_agent FROM devices WHERE user_id = $1 ORDER BY created_at',
        [userId],
      );

    it('records the device, its id in lower case; what a later sign-in leaves out stays, what it names replaces', async () => {
      const device_id = randomUUID();
      const first = await signIn(service.url, 'dev', {
        device_id: device_id.toUpperCase(),
        device_name: 'Ada’s phone',
        user_agent: 'UA/1',
      });
      expect(await devices(first.user_id)).toEqual([
        { device_id, device_name: 'Ada’s phone', user_agent: 'UA/1' },
      ]);
      await signIn(service.url, 'dev', { device_id, user_agent: 'UA/2' });
      expect(await devices(first.user_id)).toEqual([
        { device_id, device_name: 'Ada’s phone', user_agent: 'UA/2' },
      ]);
      await signIn(service.url, 'dev', { device_id, device_name: 'Ada’s old phone' });
      expect(await devices(first.user_id)).toEqual([
        { device_id, device_name: 'Ada’s old phone', user_agent: 'UA/2' },
      ]);
    });

    it.each([
      ['of the header', 'Header/1', {}, 'Header/1'],
      ['of the header, cut and never refused', `B/1 ${'x'.repeat(2000)}`, {}, `B/1 ${'x'.repeat(1020)}`],
      ['that the client sends, not that of the header', 'Header/1', { user_agent: 'Field/1' }, 'Field/1'],
      ['without control characters', 'Header\t/1', {}, 'Header /1'],
    ])('have the user agent %s', async (_name, header, fields, stored) => {
      const state = await beginSignIn(service.url);
      const { body } = await request(service.url)
        .post('/oauth2/token')
        .set('User-Agent', header)
        .send({ code: randomUUID(), state, device_id: randomUUID(), ...fields })
        .expect(200);
      expect(await devices((body as Tokens).user_id)).toMatchObject([{ user_agent: stored }]);
    });

    it('takes texts of the greatest length, counted in characters, not UTF-16 units', async () => {
      const device = { device_name: '😀'.repeat(128), user_agent: '😀'.repeat(1024) };
      const state = await beginSignIn(service.url);
      provider.answerWith(200, { provider_user_id: 'long' });
      const { body } = await request(service.url)
        .post('/oauth2/token')
        .send({ code: 'c'.repeat(15_000), state, device_id: randomUUID(), ...device })
        .expect(200);
      expect(await devices((body as { user_id: string }).user_id)).toMatchObject([device]);
    });

    it('are optional: without one, the session has no device', async () => {
      const { user_id, access_token } = await signIn(service.url, 'no-device', {
        device_id: '',
        device_name: null,
      });
      expect(await devices(user_id)).toEqual([]);
      expect(claimsOf(access_token)).not.toHaveProperty('device_id');
    });
  });

  describe('POST /oauth2/refresh', () => {
    it('gives a new access token of the same session, and no refresh token', async () => {
      const tokens = await signIn(service.url, 'refresher', { device_id: randomUUID() });
      const { body } = await request(service.url)
        .post('/oauth2/refresh')
        .send({ refresh_token: tokens.refresh_token })
        .expect(200);
      const { access_token, ...rest } = body as Tokens;
      expect(rest).toEqual({ token_type: 'Bearer', expires_in: 3600 });
      const { sub, sid, device_id, jti } = claimsOf(tokens.access_token);
      const after = claimsOf(access_token);
      expect(after).toMatchObject({ sub, sid, device_id });
      expect(after['jti']).not.toBe(jti);
    });

    it('neither replaces, extends nor revokes the refresh token (spec §2.2)', async () => {
      const { refresh_token } = await signIn(service.url);
      const stored = (): Promise<unknown[]> =>
        query(service.databaseUrl, 'SELECT * FROM refresh_tokens WHERE token_hash = sha256($1)', [
          Buffer.from(refresh_token),
        ]);
      const before = await stored();
      for (let i = 0; i < 20; i++) {
        await request(service.url).post('/oauth2/refresh').send({ refresh_token }).expect(200);
      }
      expect(before).toHaveLength(1);
      expect(await stored()).toEqual(before);
    });

    it.each<[string, (token: string) => string]>([
      ['one with another secret', (token) => token.slice(0, -4) + (token.endsWith('AAAA') ? 'BBBB' : 'AAAA')],
      ['one with a character more', (token) => `${token}A`],
      ['one in another spelling of base64', (token) => `${token}=`],
      ['one with white space', (token) => ` ${token}`],
      ['a very long one', (token) => token + 'A'.repeat(10_000)],
    ])('refuses %s with invalid_grant', async (_name, change) => {
      const { refresh_token } = await signIn(service.url);
      const before = await dump(service.databaseUrl);
      const { body } = await request(service.url)
        .post('/oauth2/refresh')
        .send({ refresh_token: change(refresh_token) })
        .expect(401);
      expect(body).toMatchObject({ error: 'invalid_grant' });
      expect(await dump(service.databaseUrl)).toBe(before);
    });
  });

  describe('PKCE of the client (RFC 7636)', () => {
    const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'; // RFC 7636, appendix B
    const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
    const begin = () =>
      beginSignIn(service.url, { code_challenge: challenge, code_challenge_method: 'S256' });
    const exchange = (state: string, body: object) =>
      request(service.url)
        .post('/oauth2/token')
        .send({ code: 'pkce', state, ...body });

    it('lets the client that began the sign-in finish it', async () => {
      await exchange(await begin(), { code_verifier: verifier }).expect(200);
    });

    it.each([
      ['no verifier', begin, {}],
      ['another verifier', begin, { code_verifier: verifier.replace('d', 'e') }],
      // An attacker removed the challenge (RFC 9700 §4.8.2).
      ['a verifier without a challenge', () => beginSignIn(service.url), { code_verifier: verifier }],
    ])('refuses %s, and uses up the state', async (_name, beginning, body) => {
      const state = await beginning();
      expect((await exchange(state, body).expect(401)).body).toMatchObject({ error: 'invalid_grant' });
      await exchange(state, { code_verifier: verifier }).expect(401);
      expect(provider.requests).toHaveLength(0);
    });
  });

  it.each<[string, string | undefined, string | undefined, number]>([
    ['the same', CALLBACK, CALLBACK, 200],
    ['left out', CALLBACK, undefined, 200],
    ['another one', CALLBACK, `${CALLBACK}/`, 401],
    ['in another case', CALLBACK, CALLBACK.replace('callback', 'Callback'), 401],
    ['the default, where none was named', undefined, CALLBACK, 200],
    ['left out, where none was named', undefined, undefined, 200],
    ['another one of the list, where none was named', undefined, 'http://localhost:5173/cb', 401],
    ['no URI', undefined, 'anything', 401],
  ])('the redirect URI at the exchange: %s', async (_name, named, redirect_uri, status) => {
    const state = await beginSignIn(service.url, named === undefined ? {} : { redirect_uri: named });
    const send = () => request(service.url).post('/oauth2/token').send({ code: 'r', state, redirect_uri });
    await send().expect(status);
    const forms = provider.requests.map((sent) => new URLSearchParams(sent.body).get('redirect_uri'));
    expect(forms).toEqual(status === 200 ? [CALLBACK] : []);
    await send().expect(401); // the state is used up either way
  });
});

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import request from 'supertest';
import { bearer, beginSignIn, claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { ClientKey } from '../support/dpop.js';
import { dump, query } from '../support/database.js';
import { SERVICE_KEY, startTestService } from '../support/service.js';
import { prepare, useInstances } from '../support/use.js';

const ISSUER = 'http://localhost:3000';
const HTU = { token: `${ISSUER}/oauth2/token`, refresh: `${ISSUER}/oauth2/refresh` };

const THEFTS = 8; // of each kind
const ROUNDS = 4;

interface Answer {
  readonly status: number;
  readonly body: { readonly error?: string; readonly error_description?: string } & Partial<Tokens>;
}

const agent = new Agent({ keepAlive: true, maxSockets: THEFTS });

/** A POST with exactly these `DPoP` headers, also such as fetch would not send. */
async function post(url: string, path: string, body: object, ...proofs: string[]): Promise<Answer> {
  const headers = { 'Content-Type': 'application/json', ...(proofs.length > 0 && { DPoP: proofs }) };
  const call = httpRequest(url + path, { method: 'POST', agent, headers });
  call.end(JSON.stringify(body));
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  return { status: response.statusCode!, body: JSON.parse(await text(response)) as Answer['body'] };
}

/** On two instances that share a database. */
describe('sessions that are bound to a key (RFC 9449 §5)', () => {
  afterAll(() => agent.destroy());
  const {
    provider,
    here: service,
    there: other,
  } = useInstances({ PUBLIC_URL: ISSUER, SERVICE_KEYS: SERVICE_KEY });

  async function boundSignIn(
    key: ClientKey,
    user: string = randomUUID(),
    body: object = {},
  ): Promise<Tokens> {
    const state = await beginSignIn(service.url);
    const call = { code: user, state, ...body };
    const answer = await post(service.url, '/oauth2/token', call, key.proof(HTU.token));
    expect(answer.status).toBe(200);
    return answer.body as Tokens;
  }
  const refresh = (token: string, ...proofs: string[]): Promise<Answer> =>
    post(service.url, '/oauth2/refresh', { refresh_token: token }, ...proofs);
  const rowsOf = (userId: string): Promise<Record<string, unknown>[]> =>
    query(service.databaseUrl, 'SELECT * FROM access_tokens WHERE user_id = $1', [userId]);
  function expectRefused(answer: Answer, error = 'invalid_dpop_proof', status = 400): void {
    expect(answer).toEqual({
      status,
      body: { error, error_description: expect.stringMatching(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/) },
    });
  }

  it('begin with a proof, and each refresh needs another of the same key', async () => {
    const key = new ClientKey();
    const tokens = await boundSignIn(key, 'ada', { device_id: randomUUID() });
    expect(Object.keys(tokens)).toEqual([
      'access_token',
      'token_type',
      'refresh_token',
      'expires_in',
      'user_id',
    ]);
    const [stored] = await query(service.databaseUrl, 'SELECT jkt FROM refresh_tokens WHERE user_id = $1', [
      tokens.user_id,
    ]);
    expect(stored!['jkt']).toEqual(key.thumbprint);

    const { status, body } = await refresh(tokens.refresh_token, key.proof(HTU.refresh));
    expect([status, Object.keys(body)]).toEqual([200, ['access_token', 'token_type', 'expires_in']]);
    expect([tokens.token_type, body.token_type]).toEqual(['Bearer', 'Bearer']);
    await bearer(other.url, body.access_token!).get('/me').expect(200);
    expect(claimsOf(body.access_token!)['sid']).toBe(claimsOf(tokens.access_token)['sid']);
  });

  it('refresh at the token endpoint as well, as JSON or form, with proofs for that address', async () => {
    const key = new ClientKey();
    const { refresh_token } = await boundSignIn(key);
    for (const type of ['application/json', 'application/x-www-form-urlencoded']) {
      const call = (proof: string) =>
        request(service.url)
          .post('/oauth2/token')
          .type(type)
          .set('DPoP', proof)
          .send({ grant_type: 'refresh_token', refresh_token });
      const { body } = await call(key.proof(HTU.token)).expect(200);
      expect(Object.keys(body as object)).toEqual(['access_token', 'token_type', 'expires_in']);
      await call(key.proof(HTU.refresh)).expect(400);
    }
  });

  it('begin from a page of another origin, too: the header passes its preflight', async () => {
    const { headers } = await request(service.url)
      .options('/oauth2/token')
      .set('Origin', 'http://localhost:5173')
      .set('Access-Control-Request-Method', 'POST')
      .set('Access-Control-Request-Headers', 'content-type,dpop')
      .expect(204);
    expect(headers['access-control-allow-headers']).toContain('dpop');
  });

  describe('a thief who has the refresh token', () => {
    const key = prepare(() => new ClientKey());
    const owner = prepare(() => boundSignIn(key, 'owner'));

    const thief = new ClientKey();
    it.each<[string, () => Promise<() => string[]>]>([
      ['alone', async () => () => []],
      ['with another key', async () => () => [thief.proof(HTU.refresh)]],
      [
        'with a used proof',
        async () => {
          const used = key.proof(HTU.refresh);
          expect((await refresh(owner.refresh_token, used)).status).toBe(200);
          return () => [used];
        },
      ],
    ])('%s gets nothing, and the owner can refresh', async (_name, steal) => {
      const proofs = await steal();
      const stored = await rowsOf(owner.user_id);
      const { refresh_token } = owner;
      const thefts = Array.from({ length: THEFTS }, (_, i) =>
        post((i % 2 ? service : other).url, '/oauth2/refresh', { refresh_token }, ...proofs()),
      );
      const answers = await Promise.all(thefts);
      for (const answer of answers) expectRefused(answer);
      expect(await rowsOf(owner.user_id)).toEqual(stored);
      expect((await refresh(owner.refresh_token, key.proof(HTU.refresh))).status).toBe(200);
      // Of two instances in one process, the last one writes the log of both.
      expect([...service.log, ...other.log].join()).not.toContain(owner.refresh_token);
    });

    it('and the proof of the sign-in gets nothing at the token endpoint', async () => {
      const proof = key.proof(HTU.token);
      const state = await beginSignIn(service.url);
      const signedIn = await post(service.url, '/oauth2/token', { code: 'owner', state }, proof);
      const { refresh_token } = signedIn.body;
      const theft = { grant_type: 'refresh_token', refresh_token };
      expectRefused(await post(other.url, '/oauth2/token', theft, proof));
      expect((await refresh(refresh_token!, key.proof(HTU.refresh))).status).toBe(200);
    });

    it('… nor for another session of the same key', async () => {
      const again = await boundSignIn(key, 'owner');
      const used = key.proof(HTU.refresh);
      expect((await refresh(owner.refresh_token, used)).status).toBe(200);
      expectRefused(await refresh(again.refresh_token, used));
    });
  });

  it('one proof on two instances at once: one wins', async () => {
    const key = new ClientKey();
    const { refresh_token, user_id } = await boundSignIn(key);
    const [{ length: before }, unbound] = [await rowsOf(user_id), await signIn(service.url)];
    for (let round = 0; round < ROUNDS; round++) {
      const proof = key.proof(HTU.refresh);
      // Four on each instance are batched, together with the refresh of another session.
      const racers = Array.from({ length: 8 }, (_, i) =>
        post((i % 2 ? service : other).url, '/oauth2/refresh', { refresh_token }, proof),
      );
      const beside = refresh(unbound.refresh_token);
      const answers = await Promise.all(racers);
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      for (const answer of answers.filter(({ status }) => status !== 200)) expectRefused(answer);
      const { access_token } = answers.find(({ status }) => status === 200)!.body;
      await bearer(service.url, access_token!).get('/me').expect(200);
      expect((await beside).status).toBe(200);
    }
    expect(await rowsOf(user_id)).toHaveLength(before + ROUNDS);
  });

  it('many proofs on two instances at once, in opposite order: no deadlock', async () => {
    const keys = Array.from({ length: 10 }, () => new ClientKey());
    const people = await Promise.all(keys.map((key) => boundSignIn(key)));
    const calls = keys.map((key, i) => ({ token: people[i]!.refresh_token, proof: key.proof(HTU.refresh) }));
    const send = (url: string, some: typeof calls) =>
      some.map(({ token, proof }) => post(url, '/oauth2/refresh', { refresh_token: token }, proof));
    const answers = await Promise.all([...send(service.url, calls), ...send(other.url, calls.toReversed())]);
    const good = answers.filter(({ status }) => status === 200);
    expect(good).toHaveLength(10);
    for (const answer of answers.filter(({ status }) => status !== 200)) expectRefused(answer);
  });

  it('one proof at two sign-ins of the same user at once: one wins, and none is half stored', async () => {
    const key = new ClientKey();
    const proof = key.proof(HTU.token);
    const states = await Promise.all([beginSignIn(service.url), beginSignIn(service.url)]);
    const answers = await Promise.all(
      states.map((state, i) =>
        post([service, other][i]!.url, '/oauth2/token', { code: 'twice', state }, proof),
      ),
    );
    const [winner, loser] = answers.toSorted((a, b) => a.status - b.status);
    expect(winner!.status).toBe(200);
    expectRefused(loser!);
    const sessions = 'SELECT FROM refresh_tokens WHERE user_id = $1';
    expect(await query(service.databaseUrl, sessions, [winner!.body.user_id])).toHaveLength(1);
  });

  /** A proof with each kind of error; dpop-proof.spec.ts has the mutants. */
  const badProofs = (key: ClientKey, htu: string): string[] => [
    'x',
    key.proof(htu, { header: { jwk: new ClientKey().jwk } }),
    key.proof(`${htu}/`),
    key.proof(htu, { claims: { iat: Math.floor(Date.now() / 1000) - 70 } }),
  ];

  it('bad proofs are rejected, and nothing is written', async () => {
    const key = new ClientKey();
    const { refresh_token } = await boundSignIn(key);
    const before = await dump(service.databaseUrl);
    for (const header of badProofs(key, HTU.refresh)) expectRefused(await refresh(refresh_token, header));
    expect(await dump(service.databaseUrl)).toBe(before);
    expect((await refresh(refresh_token, key.proof(HTU.refresh))).status).toBe(200);
  });

  it('a bad proof at sign-in spends no state', async () => {
    const key = new ClientKey();
    const state = await beginSignIn(service.url);
    const before = await dump(service.databaseUrl);
    provider.reset();
    for (const header of badProofs(key, HTU.token))
      expectRefused(await post(service.url, '/oauth2/token', { code: 'ada', state }, header));
    expect(await dump(service.databaseUrl)).toBe(before);
    expect(provider.requests).toHaveLength(0);
    const good = await post(service.url, '/oauth2/token', { code: 'ada', state }, key.proof(HTU.token));
    expect(good.status).toBe(200);
  });

  it.each<[string, (proof: string) => string[]]>([
    ['empty', () => ['']],
    ['sent twice', (proof) => [proof, proof]],
    ['of 12 KiB', () => ['.'.repeat(12 * 1024)]],
    ['of bytes beyond ASCII', () => ['\u00ff'.repeat(200)]],
  ])('a header that is %s is refused at both endpoints', async (_name, headers) => {
    const key = new ClientKey();
    const { refresh_token } = await boundSignIn(key);
    const state = await beginSignIn(service.url);
    const before = await dump(service.databaseUrl);
    expectRefused(await refresh(refresh_token, ...headers(key.proof(HTU.refresh))));
    const atToken = headers(key.proof(HTU.token));
    expectRefused(await post(service.url, '/oauth2/token', { code: 'ada', state }, ...atToken));
    expect(await dump(service.databaseUrl)).toBe(before);
  });

  it('after a sign-out, every proof gets invalid_grant', async () => {
    const key = new ClientKey();
    const { refresh_token, access_token } = await boundSignIn(key);
    await bearer(service.url, access_token).post('/sign-out').expect(204);
    expectRefused(await refresh(refresh_token, key.proof(HTU.refresh)), 'invalid_grant', 401);
    expectRefused(await refresh(refresh_token), 'invalid_grant', 401);
    const unknown = refresh_token.slice(0, 60) + 'AAAA' + refresh_token.slice(64);
    expectRefused(await refresh(unknown, key.proof(HTU.refresh)), 'invalid_grant', 401);
    expectRefused(await refresh(unknown), 'invalid_grant', 401);
  });

  it('are refreshed only by the key that the database has for them, alone or together with others', async () => {
    const keys = Array.from({ length: 6 }, () => new ClientKey());
    const people = await Promise.all(keys.map((key) => boundSignIn(key)));
    const users = people.slice(1).map(({ user_id }) => user_id);
    await query(service.databaseUrl, 'UPDATE refresh_tokens SET jkt = sha256(jkt) WHERE user_id = ANY ($1)', [
      users,
    ]);
    const call = (i: number) => refresh(people[i]!.refresh_token, keys[i]!.proof(HTU.refresh));
    expectRefused(await call(1), 'invalid_grant', 401);
    const answers = await Promise.all(keys.map((_, i) => call(i)));
    expect(answers.map(({ status }) => status)).toEqual([200, 401, 401, 401, 401, 401]);
  });

  it('whoever finds the refresh token may end it, and a service key may look at it, without a proof', async () => {
    const key = new ClientKey();
    const { refresh_token, user_id } = await boundSignIn(key);
    const introspect = () =>
      bearer(service.url, SERVICE_KEY)
        .post('/oauth2/introspect', { token: refresh_token, token_type_hint: 'refresh_token' })
        .expect(200);
    expect((await introspect()).body).toMatchObject({ active: true, sub: user_id });
    const forged = refresh_token.slice(0, -8) + 'AAAAAAAB';
    await request(other.url).post('/oauth2/revoke').send({ token: forged }).expect(200);
    expect((await introspect()).body).toMatchObject({ active: true });
    await request(other.url).post('/oauth2/revoke').send({ token: refresh_token }).expect(200);
    expect((await introspect()).body).toEqual({ active: false });
    expectRefused(await refresh(refresh_token, key.proof(HTU.refresh)), 'invalid_grant', 401);
  });

  it.each(['', 'x', 'a proof'])('a session without a key ignores the header %j', async (header) => {
    const { refresh_token } = await signIn(service.url);
    const proof = header === 'a proof' ? new ClientKey().proof(HTU.refresh) : header;
    expect((await refresh(refresh_token, proof)).status).toBe(200);
    expect((await refresh(refresh_token, proof)).status).toBe(200); // nor is it remembered
  });

  it('rows of used proofs stay for three minutes where tokens live shorter', async () => {
    const brief = await startTestService({
      ...provider.env(),
      PUBLIC_URL: ISSUER,
      DATABASE_URL: service.databaseUrl,
      ACCESS_TOKEN_TTL: '4',
    });
    try {
      const key = new ClientKey();
      const { refresh_token, user_id } = await boundSignIn(key);
      await query(service.databaseUrl, 'DELETE FROM access_tokens WHERE user_id = $1', [user_id]);
      const { body } = await post(brief.url, '/oauth2/refresh', { refresh_token }, key.proof(HTU.refresh));
      const { iat, exp } = claimsOf(body.access_token!) as { iat: number; exp: number };
      const [row] = await rowsOf(user_id);
      expect([body.expires_in, exp - iat]).toEqual([4, 4]);
      expect((row!['expires_at'] as Date).getTime() / 1000 - iat).toBe(180);
      const plain = await signIn(brief.url);
      const [own] = await rowsOf(plain.user_id);
      expect((own!['expires_at'] as Date).getTime() / 1000).toBe(claimsOf(plain.access_token)['exp']);
    } finally {
      await brief.close();
    }
  });
});

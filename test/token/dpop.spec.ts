import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import request from 'supertest';
import { bearer, beginSignIn, claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { ClientKey, encode } from '../support/dpop.js';
import { dump, query } from '../support/database.js';
import { startTestService, type TestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';

const ISSUER = 'http://localhost:3000';
const SERVICE_KEY = 'a-service-key-of-thirty-two-characters';
const HTU = { token: `${ISSUER}/oauth2/token`, refresh: `${ISSUER}/oauth2/refresh` };

const THEFTS = 20; // of each kind
const AT_ONCE = 20;
const ROUNDS = 10;

interface Answer {
  readonly status: number;
  readonly body: { readonly error?: string; readonly error_description?: string } & Partial<Tokens>;
}

const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });

/** A POST with exactly these `DPoP` headers, also such as fetch would not send. */
async function post(url: string, path: string, body: object, ...proofs: string[]): Promise<Answer> {
  const headers = { 'Content-Type': 'application/json', ...(proofs.length > 0 && { DPoP: proofs }) };
  const call = httpRequest(url + path, { method: 'POST', agent, headers });
  call.end(JSON.stringify(body));
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  return { status: response.statusCode!, body: JSON.parse(await text(response)) as Answer['body'] };
}

/** Calls AT_ONCE at a time. */
async function crowd<Result>(times: number, call: (i: number) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let i = 0; i < times; i += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, times - i) }, (_, j) => call(i + j));
    results.push(...(await Promise.all(some)));
  }
  return results;
}

/** On two instances that share a database. */
describe('sessions that are bound to a key (RFC 9449 §5; contract §5)', () => {
  let provider: StubProvider;
  let service: TestService;
  let other: TestService;

  beforeAll(async () => {
    provider = await StubProvider.start();
    const env = { ...provider.env(), PUBLIC_URL: ISSUER, SERVICE_KEYS: SERVICE_KEY };
    service = await startTestService(env);
    other = await startTestService({ ...env, DATABASE_URL: service.databaseUrl });
  });
  afterAll(async () => {
    agent.destroy();
    await other?.close();
    await service?.close();
    await provider?.close();
  });

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
    let key: ClientKey;
    let owner: Tokens;
    beforeAll(async () => {
      key = new ClientKey();
      owner = await boundSignIn(key, 'owner');
    });

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
    ])('%s gets nothing, and the owner can refresh', async (_name, prepare) => {
      const proofs = await prepare();
      const stored = await rowsOf(owner.user_id);
      const answers = await crowd(THEFTS, (i) =>
        post(
          (i % 2 ? service : other).url,
          '/oauth2/refresh',
          { refresh_token: owner.refresh_token },
          ...proofs(),
        ),
      );
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
    const keys = Array.from({ length: 20 }, () => new ClientKey());
    const people = await Promise.all(keys.map((key) => boundSignIn(key)));
    const calls = keys.map((key, i) => ({ token: people[i]!.refresh_token, proof: key.proof(HTU.refresh) }));
    const send = (url: string, some: typeof calls) =>
      some.map(({ token, proof }) => post(url, '/oauth2/refresh', { refresh_token: token }, proof));
    const answers = await Promise.all([...send(service.url, calls), ...send(other.url, calls.toReversed())]);
    const good = answers.filter(({ status }) => status === 200);
    expect(good).toHaveLength(20);
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

  it('mutants of a proof are rejected, and nothing is written', async () => {
    const key = new ClientKey();
    const { refresh_token } = await boundSignIn(key);
    // The unit test has each kind; every fifth goes through HTTP.
    const mutants = [...proofMutants(key, HTU.refresh)].filter((_, i) => i % 5 === 0);
    expect(mutants.length).toBeGreaterThanOrEqual(100);
    const before = await dump(service.databaseUrl);
    const answers = await crowd(mutants.length, (i) => refresh(refresh_token, mutants[i]![1]));
    for (const [i, answer] of answers.entries()) {
      expect([mutants[i]![0], answer.status, answer.body.error]).toEqual([
        mutants[i]![0],
        400,
        'invalid_dpop_proof',
      ]);
    }
    expect(await dump(service.databaseUrl)).toBe(before);
    expect((await refresh(refresh_token, key.proof(HTU.refresh))).status).toBe(200);
  });

  it('a bad proof at sign-in spends no state', async () => {
    const key = new ClientKey();
    const state = await beginSignIn(service.url);
    const before = await dump(service.databaseUrl);
    provider.reset();
    const mutants = [...proofMutants(key, HTU.token)].filter(
      ([name], i) => i % 35 === 0 && !name.startsWith('another key'),
    );
    for (const [, header] of mutants) {
      expectRefused(await post(service.url, '/oauth2/token', { code: 'ada', state }, header));
    }
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

type Json = Record<string, unknown>;

const HEX_ORDER = 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551'; // of P-256

/** What is put in the place of each member. */
const VALUES: readonly unknown[] = [
  null,
  '',
  ' ',
  0,
  -1,
  1e300,
  true,
  [],
  {},
  ['POST'],
  { a: { b: 1 } },
  '\0',
  '\ud800',
  '__proto__',
  'x'.repeat(300),
];

/**
 * Proofs that are not good for a call, each with its name: forged, mutated, malformed, of another call or time.
 * @param key of the session
 * @param htu of the call
 */
function* proofMutants(key: ClientKey, htu: string): Generator<[name: string, header: string]> {
  const foreign = new ClientKey();
  const proof = key.proof(htu);
  const [head, body, tail] = proof.split('.') as [string, string, string];
  const [header, claims] = [decode(head), decode(body)];
  const signed = (h: unknown, c: unknown): string => key.signed(encode(h), encode(c));

  yield ['another key', foreign.proof(htu)];
  yield ['another key that names ours', foreign.proof(htu, { header: { jwk: key.jwk } })];
  yield ['our key that names another', key.proof(htu, { header: { jwk: foreign.jwk } })];
  for (const [part, members] of [
    ['header', header],
    ['claims', claims],
  ] as const) {
    for (const name of Object.keys(members)) {
      yield [`no ${name}`, key.proof(htu, { [part]: { [name]: undefined } })];
      yield [`${name} as an array of itself`, key.proof(htu, { [part]: { [name]: [members[name]] } })];
      for (const value of VALUES) {
        // Any text that is not too long, and not blank, may be an id.
        if (name === 'jti' && [' ', '\0', '__proto__'].includes(value as string)) continue;
        yield [
          `${name} ${JSON.stringify(value).slice(0, 20)}`,
          key.proof(htu, { [part]: { [name]: value } }),
        ];
      }
    }
  }
  for (const name of Object.keys(key.jwk)) {
    for (const value of [undefined, ...VALUES, foreign.jwk['x']]) {
      yield [`jwk.${name}`, key.proof(htu, { header: { jwk: { ...key.jwk, [name]: value } } })];
    }
  }
  for (const alg of ['none', 'None', 'HS256', 'ES384', 'ES512', 'ES256K', 'RS256', 'PS256', 'EdDSA']) {
    yield [`alg ${alg}`, key.proof(htu, { header: { alg } })];
    yield [`alg ${alg} without a signature`, `${encode({ ...header, alg })}.${body}.`];
  }
  for (const typ of ['JWT', 'at+jwt', 'logout+jwt', 'DPOP+JWT', 'application/dpop+jwt']) {
    yield [`typ ${typ}`, key.proof(htu, { header: { typ } })];
  }
  for (const crit of [['exp'], ['b64'], [], 'exp', null]) {
    yield ['crit', key.proof(htu, { header: { crit, b64: false } })];
  }
  for (const htm of ['GET', 'post', 'POST ', 'OPTIONS', '*'])
    yield [htm, key.proof(htu, { claims: { htm } })];
  const { origin, host, pathname } = new URL(htu);
  for (const other of [
    origin,
    pathname,
    `${htu}/`,
    `${htu}.`,
    `${origin}.evil.example${pathname}`,
    `${origin}@evil.example${pathname}`,
    `https://evil.example${pathname}?${htu}`,
    `https://evil.example/#${htu}`,
    `${origin}/oauth2/authorize`,
    `${origin}/oauth2/revoke`,
    `${origin}${pathname.toUpperCase()}`,
    `${origin}/${pathname}`,
    `ftp://${host}${pathname}`,
    `https://${host}${pathname}`,
    `http://a:b@${host}${pathname}`,
  ]) {
    yield [`htu ${other}`, key.proof(other)];
  }
  const now = Math.floor(Date.now() / 1000);
  for (const off of [-86_400, -3600, -120, -70, 120, 3600, 86_400, 1e9]) {
    yield [`iat off by ${off}`, key.proof(htu, { claims: { iat: now + off } })];
  }
  yield ['iat in milliseconds', key.proof(htu, { claims: { iat: Date.now() } })];

  // The same proof with another signature. Its twin (r, n - s) is as good as the first: what counts is the `jti`.
  const raw = Buffer.from(tail, 'base64url');
  const order = Buffer.from(HEX_ORDER, 'hex');
  for (const [name, bytes] of Object.entries({
    'r and s swapped': Buffer.concat([raw.subarray(32), raw.subarray(0, 32)]),
    'r is the order': Buffer.concat([order, raw.subarray(32)]),
    's is the order': Buffer.concat([raw.subarray(0, 32), order]),
    zeros: Buffer.alloc(64),
    ones: Buffer.alloc(64, 0xff),
    empty: Buffer.alloc(0),
    'a byte less': raw.subarray(0, 63),
    'a byte more': Buffer.concat([raw, Buffer.alloc(1)]),
    long: Buffer.alloc(2000, 1),
    'of another text': key.sign(`${head}.${encode({ ...claims, jti: randomUUID() })}`),
    'of the claims alone': key.sign(body),
  })) {
    yield [`signature: ${name}`, `${head}.${body}.${bytes.toString('base64url')}`];
  }
  for (let bit = 0; bit < 512; bit += 5) {
    const flipped = Buffer.from(raw);
    flipped[bit >> 3]! ^= 1 << (bit & 7);
    yield [`signature: bit ${bit} flipped`, `${head}.${body}.${flipped.toString('base64url')}`];
  }
  for (let i = 0; i < head.length + body.length; i += 5) {
    const other = proof[i] === 'A' ? 'B' : 'A';
    yield [`character ${i} replaced`, proof.slice(0, i) + other + proof.slice(i + 1)];
  }
  for (let i = 1; i < proof.length; i += Math.ceil(proof.length / 60))
    yield [`cut at ${i}`, proof.slice(0, i)];

  for (const [name, mutant] of Object.entries({
    'a character more': `${proof}A`,
    padding: `${proof}=`,
    'a fourth part': `${proof}.`,
    'two with a comma': `${proof}, ${key.proof(htu)}`,
    'two with a space': `${proof} ${key.proof(htu)}`,
    'a scheme before it': `DPoP ${proof}`,
    'quotation marks': `"${proof}"`,
    twice: `${proof}${proof}`,
    swapped: `${body}.${head}.${tail}`,
    'no header': `.${body}.${tail}`,
    'no claims': `${head}..${tail}`,
    dots: '..',
    'upper case': proof.toUpperCase(),
    'not ASCII': `${proof}\u00e9`,
    'claims that are an array': signed(header, [claims]),
    'claims that are null': signed(header, null),
    'claims that are text': signed(header, 'x'),
    'a header that is null': signed(null, claims),
    'a header that is an array': signed([header], claims),
    'claims of a prototype': signed(header, `{"__proto__":${JSON.stringify(claims)}}`),
    'a header of a prototype': signed(`{"__proto__":${JSON.stringify(header)}}`, claims),
    'deep arrays': signed(header, `{"a":${'['.repeat(1200)}`),
    'a deep header': signed(`{"a":${'{"a":'.repeat(250)}1${'}'.repeat(251)}`, claims),
    long: key.proof(htu, { claims: { pad: 'x'.repeat(4000) } }),
    'very long': 'a'.repeat(12_000),
  })) {
    yield [name, mutant];
  }
}

function decode(part: string): Json {
  return JSON.parse(Buffer.from(part, 'base64url').toString()) as Json;
}

import { randomUUID } from 'node:crypto';
import request, { type Test } from 'supertest';
import { query } from '../support/database.js';
import { Person } from '../support/oidc-issuer.js';
import { bearer, type Tokens } from '../support/sign-in.js';
import { makeSigningKey, reissue } from '../support/signing-key.js';
import { startTestService } from '../support/service.js';
import { seconds, Transmitter } from './transmitter.js';
import { prepare, use } from '../support/use.js';

type Part = Record<string, unknown>;

const PATH = '/providers/corp/global-token-revocation';
const WRONG_TOKENS = 1000;

/** Global token revocation (docs/signals.md#global-token-revocation), on two instances. */
describe('global token revocation', () => {
  let user: string;

  const transmitter = use(() => Transmitter.start());
  // ID tokens of the stand-in are signed by ES256, and its metadata says so.
  const here = use(() => startTestService(transmitter.env()));
  const there = use(() => here.another());
  beforeEach(() => {
    user = `user-${randomUUID()}`;
  });

  const isAlive = async ({ access_token }: Tokens): Promise<boolean> =>
    (await bearer(there.url, access_token).get('/me')).status === 200;

  /** A token of the provider. @param claims and `header`: what differs from the usual ones; undefined: absent */
  function tokenOf(claims: Part = {}, header: Part = {}): string {
    const { key } = transmitter.issuer;
    const usual = {
      iss: transmitter.url,
      aud: `http://localhost:3000${PATH}`,
      iat: seconds(),
      exp: seconds() + 300,
      jti: randomUUID(),
    };
    const usualHeader = { alg: 'ES256', kid: key.jwk['kid'], typ: 'global-token-revocation+jwt' };
    return reissue('e30.e30.', key, { ...usual, ...claims }, { ...usualHeader, ...header });
  }
  const revoke = (body: unknown, token: string | undefined = tokenOf(), on = here): Test => {
    const call = request(on.url).post(PATH).set('Content-Type', 'application/json');
    if (token !== undefined) void call.set('Authorization', `Bearer ${token}`);
    return call.send(typeof body === 'string' ? body : JSON.stringify(body));
  };
  const about = (sub = user): Part => ({ sub_id: transmitter.subject(sub) });

  it.each<[string, () => Part]>([
    ['iss_sub', () => about()],
    ['the member subject', () => ({ subject: transmitter.subject(user) })],
    ['opaque', () => ({ sub_id: { format: 'opaque', id: user } })],
    ['email', () => ({ sub_id: { format: 'email', email: `${user}@idp.example` } })],
  ])('%s: 204 after all sessions of the user have ended, of nobody else', async (_, body) => {
    const hers = [
      await transmitter.signIn(new Person(user), here),
      await transmitter.signIn(new Person(user), there),
    ];
    const other = await transmitter.signIn(new Person(`other-${user}`), there);
    const { status, text } = await revoke(body());
    expect([status, text]).toEqual([204, '']);
    expect(await Promise.all([...hers, other].map((one) => isAlive(one)))).toEqual([false, false, true]);
    const events = await query(
      here.databaseUrl,
      `SELECT reason, actor_type FROM audit_events WHERE event = 'signal_received' AND user_id = $1`,
      [hers[0]!.user_id],
    );
    expect(events).toEqual([{ reason: 'global-token-revocation: sessions ended: 2', actor_type: 'signal' }]);
  });

  it('a known user without a session: 204', async () => {
    await transmitter.signIn(new Person(user), here);
    await revoke(about()).expect(204);
    await revoke(about()).expect(204);
  });

  describe('401, and nothing ends', () => {
    const now = seconds();
    const name = `user-${randomUUID()}`;
    const tokens = prepare(() => transmitter.signIn(new Person(name), here));

    it.each<[string, Part, Part]>([
      ['another typ', {}, { typ: 'JWT' }],
      ['no typ', {}, { typ: undefined }],
      ['another issuer', { iss: 'https://evil.example' }, {}],
      ['the service as audience', { aud: 'http://localhost:3000' }, {}],
      ['another path as audience', { aud: `http://localhost:3000${PATH}/` }, {}],
      ['no audience', { aud: undefined }, {}],
      ['no iat', { iat: undefined }, {}],
      ['iat ahead', { iat: now + 3600, exp: now + 3700 }, {}],
      ['no exp', { exp: undefined }, {}],
      ['expired', { iat: now - 500, exp: now - 100 }, {}],
      ['valid for more than 10 minutes', { exp: now + 1000 }, {}],
      ['no jti', { jti: undefined }, {}],
      ['alg none', {}, { alg: 'none' }],
    ])('%s', async (_, claims, header) => {
      const { status, headers, body } = await revoke(about(name), tokenOf(claims, header));
      expect([status, (body as Part)['error']]).toEqual([401, 'invalid_token']);
      expect(headers['www-authenticate']).toBe('Bearer error="invalid_token"');
      expect(await isAlive(tokens)).toBe(true);
    });

    it('a forged signature, the key of the transmitter, another scheme, an access token', async () => {
      const forged = [
        reissue(tokenOf(), makeSigningKey('first'), {}),
        reissue(tokenOf(), transmitter.key, {}),
        tokens.access_token,
        'nonsense',
      ];
      for (const token of forged) expect([401, 503]).toContain((await revoke(about(name), token)).status);
      const call = revoke(about(name)).set('Authorization', 'Basic YTpi');
      expect((await call).status).toBe(401);
      expect(await isAlive(tokens)).toBe(true);
    });

    it('no token at all', async () => {
      const { status, headers } = await request(here.url).post(PATH).send(about(name));
      expect([status, headers['www-authenticate']]).toEqual([401, 'Bearer']);
    });
  });

  it('a token is good once, whatever the body, on every instance', async () => {
    await transmitter.signIn(new Person(user), here);
    const token = tokenOf();
    await revoke(about(), token).expect(204);
    const after = await transmitter.signIn(new Person(user), here);
    expect((await revoke(about(), token, there)).status).toBe(401);
    expect(await isAlive(after)).toBe(true);
    const other = `other-${user}`;
    const others = await transmitter.signIn(new Person(other), here);
    for (const body of [about(other), { ...about(), more: 1 }])
      expect((await revoke(body, token, there)).status).toBe(401);
    expect(await isAlive(others)).toBe(true);
  });

  it.each<[string, number, unknown]>([
    ['an empty object', 400, {}],
    ['a list', 400, []],
    ['broken JSON', 400, '{"sub_id":'],
    ['deep JSON', 400, '['.repeat(1000)],
    ['a subject that is text', 400, { sub_id: 'ada' }],
    ['a subject without id', 400, { sub_id: { format: 'opaque' } }],
    ['another issuer', 422, { sub_id: { format: 'iss_sub', iss: 'https://evil.example', sub: 'ada' } }],
    ['another format', 422, { sub_id: { format: 'phone_number', phone_number: '+1' } }],
    ['a session alone', 422, { sub_id: { format: 'complex', session: { format: 'opaque', id: 'x' } } }],
    ['an unknown user', 404, { sub_id: { format: 'opaque', id: 'nobody' } }],
    ['an unknown address', 404, { sub_id: { format: 'email', email: 'nobody@idp.example' } }],
    ['a large body', 413, { sub_id: { format: 'opaque', id: 'x'.repeat(21_000) } }],
  ])('%s: %s', async (_, status, body) => {
    const answer = await revoke(body);
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual({ error: expect.any(String), error_description: expect.any(String) });
  });

  it(`${WRONG_TOKENS} wrong tokens are limited for their address; a good one is taken`, async () => {
    await transmitter.signIn(new Person(user), here);
    const env = { ...transmitter.env(), DATABASE_URL: here.databaseUrl };
    const limited = await startTestService({ ...env, RATE_LIMIT: 'on', RATE_LIMIT_BAD_TOKEN: '100' });
    try {
      const counts = new Map<number, number>();
      const wrong = tokenOf({ aud: 'x' });
      for (let i = 0; i < WRONG_TOKENS; i += 50) {
        const some = Array.from({ length: 50 }, async () => {
          const headers = { Authorization: `Bearer ${wrong}` };
          return (await fetch(limited.url + PATH, { method: 'POST', headers })).status;
        });
        for (const status of await Promise.all(some)) counts.set(status, (counts.get(status) ?? 0) + 1);
      }
      expect(new Set(counts.keys())).toEqual(new Set([401, 429]));
      expect(counts.get(401)).toBeLessThan(WRONG_TOKENS / 2);
      await revoke(about(), tokenOf(), limited).expect(204);
    } finally {
      await limited.close();
    }
  }, 300_000);
});

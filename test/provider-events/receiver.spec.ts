import { createPublicKey, randomUUID } from 'node:crypto';
import { Endings } from '../support/endings.js';
import { mutantsOf } from '../support/forged-tokens.js';
import { query } from '../support/database.js';
import { Person } from '../support/oidc-issuer.js';
import { makeSigningKey, reissue } from '../support/signing-key.js';
import { bearer, type Tokens } from '../support/sign-in.js';
import { startTestService } from '../support/service.js';
import { caep, providerEnv, push, risc, seconds, ssf, Transmitter } from './transmitter.js';
import { prepare, use } from '../support/use.js';

type Part = Record<string, unknown>;

const REVOKED = caep('session-revoked');

/** Which security events are taken (docs/signals.md#what-is-checked), on two instances. */
describe('the receiver of security events', () => {
  const endings = new Endings();
  afterAll(() => endings.run());

  const transmitter = use(() => Transmitter.start());
  const here = use(() =>
    startTestService(
      transmitter.env({
        PROVIDERS_CORP_SIGNALS_AUDIENCE: 'https://stream.example',
        ...providerEnv('OTHER', transmitter.url), // without signals
        ...providerEnv('AWAY', 'http://127.0.0.1:1'),
        PROVIDERS_AWAY_SIGNALS: 'on',
      }),
    ),
  );
  const there = use(() => here.another());
  const ada = prepare(() => transmitter.signIn(new Person('ada'), here));

  const isAlive = async ({ access_token }: Tokens): Promise<boolean> =>
    (await bearer(there.url, access_token).get('/me')).status === 200;
  const events = (reason: string): Promise<Part[]> =>
    query(here.databaseUrl, `SELECT * FROM audit_events WHERE event = 'signal_received' AND reason LIKE $1`, [
      reason,
    ]);
  const about = (sub: string, claims: Part = {}, header: Part = {}): string =>
    transmitter.set(REVOKED, {}, { sub_id: transmitter.subject(sub), ...claims }, header);

  describe('refuses', () => {
    const now = seconds();
    it.each<[string, string, Part, Part?]>([
      ['another typ', 'invalid_request', {}, { typ: 'JWT' }],
      ['a logout token', 'invalid_request', {}, { typ: 'logout+jwt' }],
      ['no typ', 'invalid_request', {}, { typ: undefined }],
      ['another issuer', 'invalid_issuer', { iss: 'https://evil.example' }],
      ['no issuer', 'invalid_issuer', { iss: undefined }],
      ['another audience', 'invalid_audience', { aud: 'https://other.example' }],
      ['no audience', 'invalid_audience', { aud: undefined }],
      ['iat far ahead', 'invalid_request', { iat: now + 600 }],
      ['iat 7 days ago', 'invalid_request', { iat: now - 7 * 86_400 - 60 }],
      ['no iat', 'invalid_request', { iat: undefined }],
      ['exp', 'invalid_request', { exp: now + 600 }],
      ['exp in the past', 'invalid_request', { exp: now - 600 }],
      ['a top-level sub', 'invalid_request', { sub: 'ada' }],
      ['no jti', 'invalid_request', { jti: undefined }],
      ['a long jti', 'invalid_request', { jti: 'x'.repeat(256) }],
      ['no events', 'invalid_request', { events: undefined }],
      ['empty events', 'invalid_request', { events: {} }],
      ['events that are a list', 'invalid_request', { events: [REVOKED] }],
      ['an event that is text', 'invalid_request', { events: { [REVOKED]: 'x' } }],
      [
        'eleven events',
        'invalid_request',
        { events: Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`urn:event:${i}`, {}])) },
      ],
      ['no subject', 'invalid_request', { sub_id: undefined }],
      ['a subject that is text', 'invalid_request', { sub_id: 'ada' }],
      [
        'a subject without sub',
        'invalid_request',
        { sub_id: { format: 'iss_sub', iss: 'https://a.example' } },
      ],
      ['an empty sub', 'invalid_request', { sub_id: { format: 'opaque', id: '' } }],
      [
        'a complex subject with a broken user',
        'invalid_request',
        { sub_id: { format: 'complex', user: {}, session: { format: 'opaque', id: 'x' } } },
      ],
    ])('%s', async (_, err, claims, header = {}) => {
      const { status, body } = await push(here, about('ada', claims, header));
      expect([status, body]).toEqual([400, { err, description: expect.any(String) }]);
      expect(await isAlive(ada)).toBe(true);
    });

    it.each<[string, () => string]>([
      ['an empty body', () => ''],
      ['no token', () => 'ada'],
      ['a broken base64', () => about('ada').replace('.', '.%%%')],
      ['JSON that is broken', () => `e30.${Buffer.from('{"a":').toString('base64url')}.AAAA`],
      ['deep JSON', () => `e30.${Buffer.from('['.repeat(30_000)).toString('base64url')}.AAAA`],
      ['a deep event', () => about('ada', { events: { [REVOKED]: deep(200) } })],
      ['four parts', () => `${about('ada')}.AAAA`],
    ])('%s', async (_, token) => {
      const { status, body } = await push(here, token());
      expect([status, (body as Part)['err']]).toEqual([400, 'invalid_request']);
      expect(await isAlive(ada)).toBe(true);
    });

    it('a forged signature, and a key that the transmitter does not have', async () => {
      const token = about('ada');
      const forged = reissue(token, makeSigningKey('signals'), {});
      expect((await push(here, forged)).body).toMatchObject({ err: 'authentication_failed' });
      // The transmitter may have made the key since, so it may send again.
      const unknown = reissue(token, makeSigningKey('unknown'), {}, { kid: 'unknown' });
      const { status, body } = await push(here, unknown);
      expect([400, 503]).toContain(status);
      expect((body as Part)['err']).not.toBe(undefined);
      expect(await isAlive(ada)).toBe(true);
    });

    it('every variant of a genuine token', async () => {
      const { privateKey } = transmitter.key;
      const parts = { token: about('nobody'), privateKey, publicKey: createPublicKey(privateKey) };
      // A member that is not used, another name, or a time that is allowed, leaves it genuine.
      const genuine =
        /^typ "secevent|^header with (jwk|jku|x5u|x5c|zip|cty|enc|x), our key|^no kid|^the same claims|: the twin|^aud (\[|as an)|^(jti|sub_id|events) |^nbf |^iat \d{10}$/;
      const taken: string[] = [];
      for (const [name, token] of mutantsOf(parts)) {
        if (genuine.test(name)) continue;
        const { status } = await push(here, token);
        if (status !== 400 && status !== 503) taken.push(`${name}: ${status}`);
      }
      expect(taken).toEqual([]);
    });

    it('another media type, a large body, a compressed one, another method', async () => {
      const token = about('ada');
      const asText = push(here, token).set('Content-Type', 'text/plain');
      expect((await asText).body).toMatchObject({ err: 'invalid_request' });
      expect((await push(here, 'a'.repeat(65 * 1024))).status).toBe(413);
      expect((await push(here, token).set('Content-Encoding', 'gzip')).status).toBe(415);
      const { status } = await fetch(`${here.url}/providers/corp/signals`);
      expect(status).toBe(405);
    });

    it('everything at a provider without signals', async () => {
      expect((await push(here, about('ada'), 'other')).status).toBe(404);
      expect((await push(here, about('ada'), 'nobody')).status).toBe(404);
    });

    it('nothing for good while the keys cannot be had: 503 with Retry-After', async () => {
      const { status, headers, body } = await push(here, about('ada'), 'away');
      expect([status, headers['retry-after']]).toEqual([503, '1']);
      expect(body).toMatchObject({ err: 'server_error', description: expect.any(String) });
    });
  });

  it.each<[string, () => Part]>([
    ['iat 50 s ahead', () => ({ iat: seconds() + 50 })],
    ['iat 6 days ago', () => ({ iat: seconds() - 6 * 86_400 })],
    ['its own audience among others', () => ({ aud: ['https://x.example', 'http://localhost:3000'] })],
    ['signals_audience', () => ({ aud: 'https://stream.example' })],
    [
      'a subject in the event',
      () => ({ sub_id: undefined, events: { [REVOKED]: { subject: opaque('nobody') } } }),
    ],
  ])('takes %s', async (_, claims) => {
    expect((await push(here, about('nobody', claims()))).status).toBe(202);
  });

  it('takes a token once: a repeat is 202 on each instance, and changes nothing', async () => {
    const bob = new Person('bob');
    const before = await transmitter.signIn(bob, here);
    const token = about('bob');
    const answers = await Promise.all([push(here, token), push(there, token), push(here, token)]);
    expect(answers.map(({ status, text }) => [status, text])).toEqual([
      [202, ''],
      [202, ''],
      [202, ''],
    ]);
    expect(await isAlive(before)).toBe(false);
    expect(await events('session-revoked: sessions ended: 1')).toHaveLength(1);
    const after = await transmitter.signIn(bob, there);
    expect((await push(there, token)).status).toBe(202);
    expect(await isAlive(after)).toBe(true);
    const [row] = await query(
      here.databaseUrl,
      `SELECT max(expires_at) > now() + interval '7.9 days' AS late FROM logout_tokens`,
    );
    expect(row).toEqual({ late: true });
  });

  it('records what it does not act on', async () => {
    const other = `urn:example:${randomUUID()}`;
    for (const [event, body, claims, reason] of [
      [other, {}, {}, `${other}: recorded only: another event`],
      [
        REVOKED,
        {},
        { sub_id: { ...transmitter.subject('ada'), iss: 'https://evil.example' } },
        '%another issuer',
      ],
      [REVOKED, {}, { sub_id: { format: 'phone_number', phone_number: '+1' } }, '%another format'],
      [REVOKED, {}, { sub_id: { format: 'complex', tenant: opaque('corp') } }, '%neither user nor session'],
      [
        caep('assurance-level-change'),
        { change_direction: 'increase' },
        {},
        'assurance-level-change: recorded only',
      ],
      [
        caep('assurance-level-change'),
        { previous_level: 'nist-aal2', current_level: 'nist-aal2' },
        {},
        'assurance-level-change: recorded only',
      ],
      [
        caep('device-compliance-change'),
        { current_status: 'compliant' },
        {},
        'device-compliance-change: recorded only',
      ],
      [
        caep('assurance-level-change'),
        { change_direction: 'increase' },
        { sub_id: { format: 'complex', session: opaque('of nobody') } },
        'assurance-level-change: recorded only: no such user',
      ],
      [ssf('verification'), { state: 'abc' }, { sub_id: opaque('a stream') }, 'verification: abc'],
      [ssf('stream-updated'), { status: 'paused' }, { sub_id: undefined }, 'stream-updated: paused'],
      [
        risc('account-enabled'),
        {},
        { sub_id: { format: 'email', email: 'nobody@corp.example' } },
        '%no such user',
      ],
    ] as const) {
      const token = transmitter.set(event, body, { sub_id: transmitter.subject('ada'), ...claims });
      expect((await push(here, token)).status).toBe(202);
      const [recorded] = await events(reason);
      expect(recorded).toMatchObject({ actor_type: 'signal', actor_name: 'corp', provider: 'corp' });
    }
    expect(await isAlive(ada)).toBe(true);
  });

  it('takes no complex subject with a critical member that it does not understand', async () => {
    const other = endings.after(await Transmitter.start(), (one) => one.close());
    other.metadata = { critical_subject_members: ['tenant'] };
    const service = endings.after(await startTestService(other.env()), (one) => one.close());
    const tokens = await other.signIn(new Person('ada'), service);
    const isOpen = async () => (await bearer(service.url, tokens.access_token).get('/me')).status === 200;
    const complex = (more: Part) => ({ format: 'complex', user: other.subject('ada'), ...more });
    const critical = complex({ tenant: { format: 'opaque', id: 'corp' } });
    await push(service, other.set(REVOKED, {}, { sub_id: critical })).expect(202);
    expect(await isOpen()).toBe(true);
    const usual = complex({ device: { format: 'opaque', id: 'laptop' } });
    await push(service, other.set(REVOKED, {}, { sub_id: usual })).expect(202);
    expect(await isOpen()).toBe(false);
  });

  it('counts bad tokens of an address, and never refuses a good one', async () => {
    const limited = await startTestService({
      ...transmitter.env(),
      DATABASE_URL: here.databaseUrl,
      RATE_LIMIT: 'on',
      RATE_LIMIT_BAD_TOKEN: '5',
    });
    try {
      const statuses: number[] = [];
      for (let i = 0; i < 7; i++) statuses.push((await push(limited, about('ada', { aud: 'x' }))).status);
      expect(statuses).toEqual([400, 400, 400, 400, 400, 429, 429]);
      const { status } = await push(limited, about('nobody'));
      expect(status).toBe(202);
    } finally {
      await limited.close();
    }
  });
});

function opaque(id: string): Part {
  return { format: 'opaque', id };
}

function deep(levels: number): Part {
  return levels === 0 ? {} : { a: deep(levels - 1) };
}

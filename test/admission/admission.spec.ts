import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import request from 'supertest';
import { AdmissionService } from '../../src/features/admission/admission.service.js';
import { deriveUserId } from '../../src/identity/user-id.js';
import { query } from '../support/database.js';
import { freePort } from '../support/free-port.js';
import { startTestService } from '../support/service.js';
import { beginSignIn, bearer, claimsOf, type Tokens } from '../support/sign-in.js';
import { answerIn, REDIRECT_URI, returnWith, StockClient } from '../support/stock-client.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';
import { WEBHOOK_SECRET, WebhookReceiver } from '../support/webhook-receiver.js';
import { use } from '../support/use.js';

const NEW_SECRET = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

/** `ADMISSION_URL` (docs/guides/access-policy.md#ask-a-service-of-yours). */
describe('the admission service', () => {
  let env: Record<string, string>;
  let user: string;

  const provider = use(() => StubProvider.start());
  const asked = use(() => WebhookReceiver.start());
  beforeAll(() => {
    env = {
      ...provider.env(),
      ...provider.env('CORP'),
      PROVIDERS_CORP_ALLOW: 'claim:groups=staff',
      PUBLIC_URL: 'http://localhost:3000',
      REDIRECT_URIS: `${REDIRECT_URI},http://127.0.0.1/cb`,
      ADMISSION_URL: asked.url,
      ADMISSION_SECRET: `${NEW_SECRET},${WEBHOOK_SECRET}`, // the receiver has the old one
    };
  });
  const service = use(() => startTestService(env));
  beforeAll(() => {
    env['DATABASE_URL'] = service.databaseUrl;
  });
  beforeEach(() => {
    user = randomUUID();
    provider.reset();
    asked.deliveries.length = 0;
    answerJson({ allow: true });
  });
  afterEach(() => expect(asked.invalid).toEqual([]));

  const answerJson = (answer: unknown): void => {
    asked.answer = (response) => void response.end(JSON.stringify(answer));
  };
  const questions = (): unknown[] => asked.deliveries.map(({ body }) => body.data);
  const exchange = async (body: object = {}, at = service.url, name = 'stub'): Promise<request.Response> => {
    const state = await beginSignIn(at, { provider: name });
    return request(at)
      .post('/oauth2/token')
      .send({ code: user, state, ...body });
  };
  const stored = (name = 'stub') =>
    query<{ provider_claims: object | null; admission_claims: object | null }>(
      service.databaseUrl,
      `SELECT provider_claims, identity -> 'overlay' AS admission_claims FROM users WHERE user_id = $1`,
      [deriveUserId(name, user)],
    );
  const refusals = () =>
    query<{ error: string; reason: string | null }>(
      service.databaseUrl,
      `SELECT error, reason FROM audit_events WHERE event = 'sign_in_refused' AND user_id = $1 ORDER BY at`,
      [deriveUserId('stub', user)],
    );

  it('is asked once for each sign-in, with what is known of the user and the device', async () => {
    const identity = { provider_user_id: user, username: 'Ada', email: 'ada@corp.example' };
    provider.answerWith(200, { ...identity, claims: { plan: 'free' } });
    const device = { device_id: randomUUID().toUpperCase(), device_name: 'Phone', user_agent: 'App/1' };
    const { status, body } = await exchange(device);
    expect([status, body]).toEqual([200, expect.objectContaining({ token_type: 'Bearer' })]);
    expect(await exchange().then((again) => again.status)).toBe(200);
    const ids = { provider: 'stub', provider_user_id: user, user_id: deriveUserId('stub', user) };
    const known = { ...ids, username: 'Ada', email: 'ada@corp.example', claims: { plan: 'free' } };
    const address = expect.stringMatching(/127\.0\.0\.1|::1/) as string;
    expect(questions()).toEqual([
      { ...known, new_user: true, ...device, device_id: device.device_id.toLowerCase(), address },
      { ...known, new_user: false, address, user_agent: null },
    ]);
    const [{ id, body: message, headers }] = asked.deliveries as [(typeof asked.deliveries)[0]];
    expect(message).toMatchObject({ type: 'admission', timestamp: expect.stringMatching(/^\d{4}-.*Z$/) });
    expect(id).not.toBe(asked.deliveries[1]!.id);
    expect(headers['webhook-signature']?.toString().split(' ').length).toBe(2);
  });

  it('is asked at the callback of a stock client, without a device, and its claims wait with the code', async () => {
    answerJson({ allow: true, claims: { plan: 'pro' } });
    const client = new StockClient();
    const code = await client.codeFrom(service.url, { code: user });
    expect(questions()).toEqual([expect.not.objectContaining({ device_id: expect.anything() as string })]);
    expect(questions()).toMatchObject([{ provider_user_id: user, new_user: true }]);
    expect(await stored()).toEqual([]);
    const { body } = await client.token(service.url, code).expect(200);
    expect(claimsOf((body as Tokens).access_token)).toMatchObject({ claims: { plan: 'pro' } });
    expect(await stored()).toEqual([{ provider_claims: { plan: 'pro' }, admission_claims: { plan: 'pro' } }]);
    expect(questions().length).toBe(1);
  });

  it('is not asked about a user whom allow refuses', async () => {
    const refused = await exchange({}, service.url, 'corp');
    expect([refused.status, questions()]).toEqual([403, []]);
    provider.claims.set(user, { groups: ['staff'] });
    const admitted = await exchange({}, service.url, 'corp');
    expect([admitted.status, questions().length]).toEqual([200, 1]);
  });

  it('lays claims over those of the provider, name by name, until the next sign-in', async () => {
    provider.claims.set(user, { roles: ['reader', 'admin'], plan: 'free', team: 'red' });
    const over = { roles: ['editor'], plan: 'pro' };
    answerJson({ allow: true, claims: over });
    const { body } = await exchange();
    const merged = { ...over, team: 'red' };
    const { access_token } = body as Tokens;
    expect(claimsOf(access_token)).toMatchObject({ roles: ['editor'], claims: { plan: 'pro', team: 'red' } });
    const me = await bearer(service.url, access_token).get('/me').expect(200);
    expect(me.body).toMatchObject({ claims: merged });
    expect(await stored()).toEqual([{ provider_claims: merged, admission_claims: over }]);
    answerJson({ allow: true, claims: null });
    expect((await exchange()).status).toBe(200);
    const provided = { roles: ['reader', 'admin'], plan: 'free', team: 'red' };
    expect(await stored()).toEqual([{ provider_claims: provided, admission_claims: null }]);
  });

  it('cuts the claims of the provider if all together exceed the limits', async () => {
    const groups = Array.from({ length: 104 }, () => randomUUID());
    provider.claims.set(user, { groups });
    answerJson({ allow: true, claims: { text: 'x'.repeat(2000) } });
    expect((await exchange()).status).toBe(200);
    const [row] = await stored();
    const { groups: left, text } = row!.provider_claims as { groups: string[]; text: string };
    expect(text.length).toBe(2000);
    expect(groups.slice(0, left.length)).toEqual(left);
    expect([left.length > 40, left.length < 60]).toEqual([true, true]);
    expect(service.log.filter((line) => line.includes(`${left.length} of 104 groups are kept`)).length).toBe(
      1,
    );
  });

  it.each<[string, unknown, string]>([
    ['a reason', { allow: false, message: 'No seat is left.\u202e' }, 'admission: No seat is left.'],
    ['a long one', { allow: false, message: 'y'.repeat(300) }, `admission: ${'y'.repeat(200)}`],
    ['none', { allow: false, claims: { sub: 1 } }, 'admission'],
    ['no text', { allow: false, message: { a: 1 } }, 'admission'],
  ])('refuses a user, with %s for the operator only', async (_name, answer, reason) => {
    answerJson(answer);
    const { status, body } = await exchange();
    const told = { error: 'access_denied', error_description: 'this account may not sign in' };
    expect([status, body]).toEqual([403, told]);
    expect(await stored()).toEqual([]);
    const begun = await new StockClient().authorize(service.url, { provider: 'stub' }).expect(302);
    const back = answerIn(await returnWith(service.url, begun, { code: user }).expect(302));
    expect(back).toEqual({
      error: 'access_denied',
      error_description: 'this account may not sign in here, or the sign-in was cancelled',
      state: expect.any(String),
      iss: expect.any(String),
    });
    await until(async () => (await refusals()).length >= 2); // of an unknown user
    answerJson({ allow: true });
    const { body: session } = await exchange();
    answerJson(answer);
    expect((await exchange()).status).toBe(403); // now of a known user
    await bearer(service.url, (session as Tokens).access_token)
      .get('/me')
      .expect(200);
    await until(async () => (await refusals()).length >= 3);
    const refused = { error: 'access_denied', reason };
    expect(await refusals()).toEqual([refused, refused, refused]);
  });

  it.each<[string, (response: ServerResponse) => unknown, problem: string]>([
    ['no answer', () => undefined, 'no answer within 2 s'],
    ['half an answer', (response) => response.write('{"allow": true'), 'no answer within 2 s'],
    ['a redirect', (response) => response.writeHead(307, { Location: asked.url }).end(), 'status 307'],
    ['10 MB', (response) => response.end(`{"allow":true,"a":"${'x'.repeat(1e7)}"}`), 'larger than 64 KiB'],
    ['HTML', (response) => response.end('<html>'), 'no JSON object'],
    ['a list', (response) => response.end('[true]'), 'neither true nor false'],
    [
      'bytes',
      (response) => response.end(Buffer.from('{"allow":true,"a":"\xff"}', 'latin1')),
      'no JSON object',
    ],
    ['too many levels', (response) => response.end(`{"allow":true,"a":${deep(101)}}`), '100 levels'],
    ['nothing', (response) => response.end(), 'neither true nor false'],
    ['a text', (response) => response.end('{"allow":"yes"}'), 'allow of the answer is neither'],
    ['201', (response) => response.writeHead(201).end('{"allow":true}'), 'status 201'],
    ['403', (response) => response.writeHead(403).end('{"allow":false}'), 'status 403'],
    ['500', (response) => response.writeHead(500).end(), 'status 500'],
    ['an end of the connection', (response) => response.socket!.destroy(), ''],
    ['a reserved claim', claims({ sub: 'someone', plan: 's3cret' }), 'claims of the answer: sub'],
    ['a wrong claim', claims({ roles: [1] }), 'roles is not a list of texts'],
    ['claims as a list', claims([]), 'claims is not an object'],
    ['too many claims', claims(Object.fromEntries([...Array(101).keys()].map((n) => [n, 1]))), '100 names'],
    ['claims that are too large', claims({ text: 's3cret'.repeat(700) }), '4096 bytes'],
  ])('lets nobody in after %s', async (_name, answer, problem) => {
    asked.answer = (response) => void answer(response);
    const begin = service.log.length;
    const { status, body, headers } = await exchange();
    const error_description = 'the admission service has not decided about this sign-in';
    expect([status, body]).toEqual([500, { error: 'server_error', error_description }]);
    expect(headers['retry-after']).toBe('1');
    expect(await stored()).toEqual([]);
    // Of equal lines in a second only their number is logged.
    const isLine = (line: string): boolean => line.includes('ADMISSION_URL: ') && line.includes(problem);
    await until(() => service.log.slice(begin).some(isLine), 'the problem is logged');
    expect(service.log.slice(begin).join('')).not.toMatch(/s3cret|whsec_|\/hook/);
    expect(questions().length).toBe(1); // a redirect is not followed
  });

  it('that cannot be reached lets nobody in, neither does one with another secret', async () => {
    const absent = { ...env, ADMISSION_URL: `http://127.0.0.1:${await freePort()}/hook` };
    const other = await startTestService(absent);
    try {
      const { status, body } = await exchange({}, other.url);
      expect([status, body]).toEqual([500, expect.objectContaining({ error: 'server_error' })]);
      const begun = await new StockClient().authorize(other.url, { provider: 'stub' }).expect(302);
      const back = answerIn(await returnWith(other.url, begun, { code: user }).expect(302));
      expect(back).toMatchObject({ error: 'server_error' });
      expect(other.log.filter((line) => /"err":.*ADMISSION_URL: .*ECONNREFUSED/.test(line)).length).toBe(2);
      expect(await stored()).toEqual([]);
    } finally {
      await other.close();
    }
    asked.secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
    try {
      expect((await exchange()).status).toBe(500);
    } finally {
      asked.secret = WEBHOOK_SECRET;
      expect(asked.invalid.splice(0).length).toBe(1);
    }
  });

  it('is asked at most twice at a time about one user', async () => {
    const open: ServerResponse[] = [];
    asked.answer = (response) => void open.push(response);
    const both = [exchange(), exchange()];
    await until(() => open.length === 2);
    const third = await exchange();
    expect([third.status, third.headers['retry-after']]).toEqual([500, '1']);
    for (const response of open) response.end('{"allow":false}');
    expect((await Promise.all(both)).map(({ status }) => status)).toEqual([403, 403]);
    answerJson({ allow: true });
    expect((await exchange()).status).toBe(200);
    expect(asked.deliveries.length).toBe(3);
  });

  it('is no part of a service without ADMISSION_URL', async () => {
    const { ADMISSION_URL: _url, ADMISSION_SECRET: _secret, ...others } = env;
    const other = await startTestService(others);
    try {
      expect(() => other.app.get(AdmissionService)).toThrow('AdmissionService');
      expect((await exchange({}, other.url)).status).toBe(200);
      expect(questions()).toEqual([]);
    } finally {
      await other.close();
    }
  });
});

function claims(sent: unknown): (response: ServerResponse) => unknown {
  return (response) => response.end(JSON.stringify({ allow: true, claims: sent }));
}

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import request from 'supertest';
import { AUDIT_NAMES } from '../../src/operations/audit.js';
import { makeRefreshToken } from '../../src/token/refresh/refresh-token.js';
import { bearer, beginSignIn, claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { ClientKey } from '../support/dpop.js';
import { startTestService, type TestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';

describe('the audit trail (docs/audit.md)', () => {
  let provider: StubProvider;
  let service: TestService;

  beforeAll(async () => {
    provider = await StubProvider.start();
    service = await startTestService({ ...provider.env(), LOG_LEVEL: 'info' });
  });
  afterAll(async () => {
    await service?.close();
    await provider?.close();
  });

  /** The audit lines that some work causes, without level, time and context. */
  async function auditOf(work: () => Promise<unknown>): Promise<object[]> {
    const before = service.log.length;
    await work();
    const lines = service.log.slice(before).map((line) => JSON.parse(line) as Record<string, unknown>);
    return lines
      .filter(({ context }) => context === 'Audit')
      .map(({ level: _level, time: _time, context: _context, ...facts }) => facts);
  }

  it('records the life of a session', async () => {
    const deviceId = randomUUID();
    const tokens = await signIn(service.url, 'ada', { device_id: deviceId });
    const session = { userId: tokens.user_id, sessionId: claimsOf(tokens.access_token)['sid'], deviceId };
    const as = bearer(service.url, tokens.access_token);
    const path = `/devices/${deviceId.toUpperCase()}`; // the log has lower case

    const begun = await auditOf(() => signIn(service.url, 'ada', { device_id: deviceId }));
    expect(begun).toEqual([expect.objectContaining({ event: 'sign_in', user_id: session.userId })]);
    expect(await auditOf(() => as.patch(path, { device_name: 'A secret name' }).expect(200))).toEqual([
      expect.objectContaining({ event: 'device_renamed', user_id: session.userId, device_id: deviceId }),
    ]);
    expect(await auditOf(() => as.post('/sign-out').expect(204))).toEqual([
      { audit: 'sign_out', userId: session.userId, scope: 'device', sessions: 2 },
    ]);
    expect(
      await auditOf(() => request(service.url).post('/oauth2/refresh').send(tokens).expect(401)),
    ).toEqual([{ audit: 'refresh_refused', error: 'invalid_grant', claimed: session }]);
    const again = await signIn(service.url, 'ada', { device_id: deviceId });
    const removed = await auditOf(() => bearer(service.url, again.access_token).delete(path).expect(204));
    expect(removed).toEqual([
      { audit: 'sign_out', userId: session.userId, scope: 'device', sessions: 1 },
      { audit: 'device_removed', userId: session.userId, deviceId },
    ]);
    expect(service.log.join('')).not.toContain('A secret name');
  });

  it('records refused sign-ins and refreshes; ids of a made-up token as `claimed`', async () => {
    provider.answerWith(400, { error: 'invalid_grant' });
    const state = await beginSignIn(service.url);
    const post = (path: string, body: object) =>
      auditOf(() => request(service.url).post(path).send(body).expect(401));
    const signIns = await post('/oauth2/token', { code: 'c', state });
    expect(signIns).toEqual([expect.objectContaining({ event: 'sign_in_refused', error: 'invalid_grant' })]);
    provider.reset();
    const refused = { audit: 'refresh_refused', error: 'invalid_grant' };
    expect(await post('/oauth2/refresh', { refresh_token: 'x' })).toEqual([refused]);
    const claimed = { sessionId: randomUUID(), userId: randomUUID(), deviceId: randomUUID() };
    const refresh_token = makeRefreshToken(claimed);
    expect(await post('/oauth2/refresh', { refresh_token })).toEqual([{ ...refused, claimed }]);
  });

  it('records a refresh without the key that its session is bound to, and a sign-in with a bad proof', async () => {
    const key = new ClientKey();
    const state = await beginSignIn(service.url);
    const signInWith = (proof: string) =>
      request(service.url).post('/oauth2/token').set('DPoP', proof).send({ code: 'ada', state });
    expect(await auditOf(() => signInWith('x').expect(400))).toEqual([
      expect.objectContaining({ event: 'sign_in_refused', error: 'invalid_dpop_proof' }),
    ]);
    const { body } = await signInWith(key.proof(`${service.url}/oauth2/token`)).expect(200);
    const { refresh_token, access_token, user_id: userId } = body as Tokens;
    const proof = new ClientKey().proof(`${service.url}/oauth2/refresh`);
    const refresh = () =>
      request(service.url).post('/oauth2/refresh').set('DPoP', proof).send({ refresh_token });
    const claimed = { userId, sessionId: claimsOf(access_token)['sid'], deviceId: null };
    expect(await auditOf(() => refresh().expect(400))).toEqual([
      { audit: 'refresh_refused', error: 'invalid_dpop_proof', claimed },
    ]);
    for (const secret of [refresh_token, proof, state]) expect(service.log.join('')).not.toContain(secret);
  });

  it('records the error of a callback that a client reports, cleaned, and uses up the state', async () => {
    const report = (body: object, status = 204) =>
      auditOf(() =>
        request(service.url).post('/oauth2/callback-error').type('form').send(body).expect(status),
      );
    const spends = async (error: string, recorded = error) => {
      const state = await beginSignIn(service.url);
      expect(await report({ state, error, error_description: `not\u001b[31m ${state}` })).toEqual([
        expect.objectContaining({ event: 'sign_in_refused', error: recorded, provider: 'stub' }),
      ]);
      expect(await report({ state, error })).toEqual([]); // as for any unknown state
      await request(service.url).post('/oauth2/token').send({ code: 'ada', state }).expect(401);
      return state;
    };
    const before = service.log.length;
    await spends('cancelled');
    await spends('access_denied');
    const warnings = () => service.log.slice(before).filter((line) => line.includes('ProviderCallback'));
    expect(warnings()).toEqual([]);
    const states = [
      await spends('invalid_scope'),
      await spends(`\u001b]${'x'.repeat(500)}`, `]${'x'.repeat(63)}`),
    ];
    expect(warnings()[0]).toContain(
      'provider stub failed (authorize): invalid_scope (not [31m ***) from the callback; look at PROVIDERS_STUB_URL',
    );
    expect(warnings()).toHaveLength(2);
    for (const state of states) expect(warnings().join('')).not.toContain(state);
    for (const bad of [{ state: 'x', error: 'e' }, { state: states[0] }, { state: states[0], error: ' ' }])
      await report(bad, 400);
    const { text } = await request(service.url).get('/metrics');
    expect(text).toContain('latchkey_sign_ins_refused_total{provider="stub",reason="cancelled"} 1');
    expect(text).toContain('latchkey_sign_ins_refused_total{provider="stub",reason="other"} 1');
    expect(text).not.toContain('xxxx');
  });

  it('records why a client revokes its token', async () => {
    const { refresh_token: token, user_id: userId } = await signIn(service.url);
    const revoke = (reason: string, status: number) =>
      auditOf(() => request(service.url).post('/oauth2/revoke').send({ token, reason }).expect(status));
    expect(await revoke('tired', 400)).toEqual([]);
    expect(await revoke('key_lost', 200)).toEqual([
      { audit: 'sign_out', userId, scope: 'session', sessions: 1, reason: 'key_lost' },
    ]);
  });

  it('a flood of refused requests is limited and counted, and hides no other line', async () => {
    type Line = { audit?: string; msg?: string; left_out?: number };
    const before = service.log.length;
    const count = (is: (line: Line) => boolean) => {
      const lines = service.log.slice(before).map((line) => JSON.parse(line) as Line);
      const leftOut = lines.filter(is).reduce((sum, { left_out = 0 }) => sum + left_out, 0);
      return {
        leftOut,
        all: leftOut + lines.filter((line) => is(line) && line.left_out === undefined).length,
      };
    };
    const audited = () => count(({ audit }) => audit === 'refresh_refused');
    const requests = () => count(({ msg = '' }) => /^requests?$/.test(msg));
    let sent = 0;
    const flood = async () => {
      const refresh = () => request(service.url).post('/oauth2/refresh').send({ refresh_token: 'x' });
      await Promise.all(Array.from({ length: 300 }, () => refresh().expect(401)));
      sent += 300;
    };
    while (audited().leftOut === 0 || requests().leftOut === 0) await flood(); // more than a hundred a second
    while (audited().all < sent || requests().all < sent) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect([audited().all, requests().all]).toEqual([sent, sent]);
    const { user_id: userId } = await signIn(service.url);
    expect(service.log.slice(before).filter((line) => line.includes(userId))).toHaveLength(1);
  });

  it('logs a refused request with its error and address', async () => {
    const { headers } = await request(service.url).get('/me').expect(401);
    const line = service.log
      .map((text) => JSON.parse(text) as Record<string, unknown>)
      .find(({ request_id }) => request_id === headers['x-request-id']);
    expect(line).toMatchObject({
      msg: 'request',
      method: 'GET',
      path: '/me',
      status: 401,
      error: 'invalid_token',
    });
    expect(line!['address']).toMatch(/127\.0\.0\.1|::1/);
  });

  it('has its table in the documents', () => {
    const document = readFileSync(new URL('../../docs/audit.md', import.meta.url), 'utf8');
    const names = [...document.matchAll(/^\| `(\w+)` /gm)].map(([, name]) => name);
    expect(names).toEqual(expect.arrayContaining(['audit', ...Object.values(AUDIT_NAMES)]));
  });
});

import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { query } from '../support/database.js';
import { ClientKey } from '../support/dpop.js';
import { SERVICE_KEY, startTestService } from '../support/service.js';
import { bearer, beginSignIn, claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';
import { use } from '../support/use.js';

const IDLE_TTL = 600;
const LIFETIME = 2_592_000;
/** Seconds that a busy machine may take for a test. */
const SLACK = 200;
const PUBLIC_URL = 'http://localhost:3000';

type Answer = Tokens & { readonly refresh_token_expires_in: number; readonly idle_expires_in: number };

/** `SESSION_IDLE_TTL` (docs/guides/session-length.md#idle), beside an instance without it. */
describe('idle sessions', () => {
  const provider = use(() => StubProvider.start());
  const env = () => ({ ...provider.env(), PUBLIC_URL, SERVICE_KEYS: SERVICE_KEY });
  const idle = () => ({ ...env(), SESSION_IDLE_TTL: String(IDLE_TTL) });
  const service = use(() => startTestService(idle()));
  const without = use(() => {
    const same = { ...env(), DATABASE_URL: service.databaseUrl };
    return startTestService(same);
  });

  const begin = async (body: object = {}): Promise<Answer> =>
    (await signIn(service.url, randomUUID(), { device_id: randomUUID(), ...body })) as Answer;
  const refresh = (tokens: Tokens, more: object = {}, url = service.url): request.Test =>
    request(url)
      .post('/oauth2/refresh')
      .send({ refresh_token: tokens.refresh_token, ...more });
  const sql = (text: string, { access_token }: Tokens): Promise<Record<string, unknown>[]> =>
    query(service.databaseUrl, text, [claimsOf(access_token)['sid']]);
  const idleEnd = async (tokens: Tokens): Promise<number | null> => {
    const [row] = await sql(
      'SELECT extract(epoch FROM idle_ends_at - now())::float8 AS left FROM refresh_tokens WHERE session_id = $1',
      tokens,
    );
    return row!['left'] as number | null;
  };
  function expectAbout(seconds: number, expected: number): void {
    expect(seconds).toBeLessThanOrEqual(expected);
    expect(seconds).toBeGreaterThan(expected - SLACK);
  }

  it('are told when they end, and no token outlives them', async () => {
    const tokens = await begin();
    expectAbout(tokens.expires_in, IDLE_TTL);
    expect([tokens.refresh_token_expires_in, tokens.idle_expires_in]).toEqual([LIFETIME, IDLE_TTL]);
    const { iat, exp } = claimsOf(tokens.access_token) as { iat: number; exp: number };
    expect(exp - iat).toBe(tokens.expires_in);
    const { body } = await refresh(tokens, { idle_for: 250 }).expect(200);
    const refreshed = body as Answer;
    expectAbout(refreshed.expires_in, IDLE_TTL - 250);
    expectAbout(refreshed.refresh_token_expires_in, LIFETIME);
    expect(refreshed.idle_expires_in).toBe(IDLE_TTL - 250);
    expectAbout((await idleEnd(tokens))!, IDLE_TTL - 250);
  });

  it('are signed out by a revocation after their end, too: an earlier token is good until then', async () => {
    const tokens = await begin();
    await sql(
      "UPDATE refresh_tokens SET idle_ends_at = now() - interval '1 s' WHERE session_id = $1",
      tokens,
    );
    await bearer(service.url, tokens.access_token).get('/me').expect(200);
    const token = { token: tokens.refresh_token, token_type_hint: 'refresh_token' };
    const { body } = await bearer(service.url, SERVICE_KEY).post('/oauth2/introspect', token).expect(200);
    expect(body).toEqual({ active: false });
    await request(service.url).post('/oauth2/revoke').send(token).expect(200);
    await bearer(service.url, tokens.access_token).get('/me').expect(401);
  });

  it('end after the last use that was reported, also if an earlier report was of a later use', async () => {
    const tokens = await begin();
    await refresh(tokens).expect(200);
    await refresh(tokens, { idle_for: 400 }).expect(200);
    expectAbout((await idleEnd(tokens))!, IDLE_TTL - 400);
    await refresh(tokens, { idle_for: '300', grant_type: 'refresh_token' }).type('form').expect(200);
    expectAbout((await idleEnd(tokens))!, IDLE_TTL - 300);
    const grant = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, idle_for: 200 };
    await request(service.url).post('/oauth2/token').send(grant).expect(200);
    expectAbout((await idleEnd(tokens))!, IDLE_TTL - 200);
  });

  it.each([-1, 1.5, 2_147_483_648, 'soon', '-1', '1.5', ' 1', true, [1], {}, 1e300])(
    'refuse %p as idle_for, and stay as they are',
    async (idle_for) => {
      const tokens = await begin();
      const before = await idleEnd(tokens);
      const { status, body } = await refresh(tokens, { idle_for });
      expect([status, body]).toMatchObject([400, { error: 'invalid_request' }]);
      expectAbout((await idleEnd(tokens))!, before!);
      await refresh(tokens, { idle_for: null }).expect(200);
    },
  );

  it.each([IDLE_TTL, 2_147_483_647])('end at once with idle_for %i, everywhere', async (idle_for) => {
    const tokens = await begin();
    const socket = await SocketClient.connect(without.url, tokens.access_token);
    const { status, body } = await refresh(tokens, { idle_for });
    expect([status, body]).toMatchObject([401, { error: 'invalid_grant' }]);
    await socket.closed();
    expect((await socket.next('session.ended')).data).toEqual({ reason: 'signed_out', cause: 'idle' });
    expect((await bearer(service.url, tokens.access_token).get('/me')).status).toBe(401);
    expect((await refresh(tokens)).status).toBe(401);
    const events = await sql(
      `SELECT event, reason, actor_type FROM audit_events WHERE session_id = $1 AND event = 'sign_out'`,
      tokens,
    );
    expect(events).toEqual([{ event: 'sign_out', reason: 'idle', actor_type: 'system' }]);
  });

  it('are not refreshed past their end, nor listed, nor signed in', async () => {
    const tokens = await begin();
    await sql(
      `UPDATE refresh_tokens SET idle_ends_at = now() - interval '1 s' WHERE session_id = $1`,
      tokens,
    );
    const service_key = bearer(service.url, SERVICE_KEY);
    const { body } = await service_key.get(`/users/${tokens.user_id}`).expect(200);
    expect(body).toMatchObject({ live_sessions: 0, sessions: [] });
    const introspected = await request(service.url)
      .post('/oauth2/introspect')
      .set('Authorization', `Bearer ${SERVICE_KEY}`)
      .type('form')
      .send({ token: tokens.refresh_token, token_type_hint: 'refresh_token' });
    expect(introspected.body).toEqual({ active: false });
    const devices = await bearer(service.url, (await signIn(service.url, 'x')).access_token).get('/devices');
    expect(devices.status).toBe(200);
    expect((await refresh(tokens)).body).toMatchObject({ error: 'invalid_grant' });
    expect((await refresh(tokens, {}, without.url)).body).toMatchObject({ error: 'invalid_grant' });
  });

  it('are shown with the end that comes first', async () => {
    const tokens = await begin();
    const find = async (): Promise<Record<string, string>> => {
      const { body } = await bearer(service.url, SERVICE_KEY).get(`/users/${tokens.user_id}`).expect(200);
      return (body as { sessions: Record<string, string>[] }).sessions[0]!;
    };
    const { expires_at, idle_expires_at, ends_because } = await find();
    expect([expires_at, ends_because]).toEqual([idle_expires_at, 'idle']);
    await sql(
      `UPDATE refresh_tokens SET expires_at = now() + interval '100 s' WHERE session_id = $1`,
      tokens,
    );
    const sooner = await find();
    expect(sooner['ends_because']).toBe('lifetime');
    expect(Date.parse(sooner['expires_at']!)).toBeLessThan(Date.parse(sooner['idle_expires_at']!));
    const { body } = await refresh(tokens).expect(200);
    expect((body as Answer).expires_in).toBeLessThanOrEqual(100);
    expect((body as Answer).refresh_token_expires_in).toBeLessThanOrEqual(100);
  });

  it('count a use only with the right token and a new proof of its key', async () => {
    const key = new ClientKey();
    const state = await beginSignIn(service.url);
    const begun = await request(service.url)
      .post('/oauth2/token')
      .set('DPoP', key.proof(`${PUBLIC_URL}/oauth2/token`))
      .send({ code: randomUUID(), state });
    const tokens = begun.body as Tokens;
    const htu = `${PUBLIC_URL}/oauth2/refresh`;
    const used = key.proof(htu);
    await refresh(tokens, { idle_for: 100 }).set('DPoP', used).expect(200);
    for (const proof of [used, new ClientKey().proof(htu), key.proof(`${PUBLIC_URL}/oauth2/token`)]) {
      const { body } = await refresh(tokens, { idle_for: 2_000_000 }).set('DPoP', proof).expect(400);
      expect(body).toMatchObject({ error: 'invalid_dpop_proof' });
      await refresh(tokens, { idle_for: 0 }).set('DPoP', proof).expect(400);
    }
    expectAbout((await idleEnd(tokens))!, IDLE_TTL - 100);
    const forged = { ...tokens, refresh_token: `${tokens.refresh_token.slice(0, -6)}AAAAAA` };
    await refresh(forged, { idle_for: 2_000_000 }).set('DPoP', key.proof(htu)).expect(401);
    await refresh(tokens).set('DPoP', key.proof(htu)).expect(200);
  });

  it('go on without the setting, and answers are those of before', async () => {
    const tokens = await begin();
    await refresh(tokens, { idle_for: 500 }).expect(200);
    const { body } = await refresh(tokens, { idle_for: 'ignored' }, without.url).expect(200);
    expect(Object.keys(body as object).toSorted()).toEqual(['access_token', 'expires_in', 'token_type']);
    expect((body as Answer).expires_in).toBe(3600);
    expect(await idleEnd(tokens)).toBeNull();
    const fresh = await signIn(without.url);
    const members = ['access_token', 'expires_in', 'refresh_token', 'token_type', 'user_id'];
    expect(Object.keys(fresh).toSorted()).toEqual(members);
  });

  it('are refreshed while another transaction has a session of the same batch', async () => {
    if (process.env['CITUS_URL'] !== undefined) return; // each refresh is a batch there
    const [held, free] = await Promise.all([begin(), begin()]);
    const locked = query(
      service.databaseUrl,
      `WITH held AS (SELECT FROM refresh_tokens WHERE session_id = $1 FOR UPDATE) SELECT pg_sleep(2), * FROM held`,
      [claimsOf(held.access_token)['sid']],
    );
    await until(async () => {
      const rows = await query(
        service.databaseUrl,
        `SELECT FROM pg_stat_activity WHERE query LIKE 'WITH held%' AND wait_event = 'PgSleep'`,
      );
      return rows.length > 0;
    });
    const answers = await Promise.all([held, free].map((one) => refresh(one, { idle_for: 60 })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    await locked;
  });
});

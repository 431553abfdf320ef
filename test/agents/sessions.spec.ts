import { createHash, randomUUID } from 'node:crypto';
import request from 'supertest';
import { Agent, BROWSER, agentsFile, AGENTS, AGENTS_CONTENT, API, API_KEY, OTHER_API } from './agent.js';
import { storedEvents } from '../support/audit.js';
import { query } from '../support/database.js';
import { ClientKey } from '../support/dpop.js';
import { SERVICE_KEY } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { bearer, claimsOf, signIn } from '../support/sign-in.js';
import { until } from '../support/waiting.js';
import { useService } from '../support/use.js';

describe('the session of a program', () => {
  const { provider, service } = useService(() => ({
    PROVIDERS_MOCK_ENABLED: 'false',
    SERVICE_KEYS: SERVICE_KEY,
    SESSION_IDLE_TTL: '300',
    MAX_SESSIONS: '2',
    AGENTS_FILE: agentsFile({ ...AGENTS_CONTENT, session_ttl: 86_400 }),
  }));
  let who = 'ada';
  beforeAll(() => provider.signInAtOnce(() => who));
  beforeEach(() => (who = randomUUID()));

  const sql = (text: string, values: unknown[] = []) => query(service.databaseUrl, text, values);
  const isActive = async (token: string): Promise<boolean> => {
    const asked = request(service.url)
      .post('/oauth2/introspect')
      .set('Authorization', `Bearer ${SERVICE_KEY}`);
    return ((await asked.send({ token })).body as { active: boolean }).active;
  };
  const sidOf = (tokens: { access_token: string }): unknown => claimsOf(tokens.access_token)['sid'];

  it('is a device of the user, which is announced and recorded', async () => {
    const phone = await signIn(service.url, who);
    const socket = await SocketClient.connect(service.url, phone.access_token);
    const tokens = await new Agent(service.url).allowed({}, ['orders:read']);
    const { sid, device_id } = claimsOf(tokens.access_token);
    await until(() => socket.received.some(({ event }) => event === 'agent.allowed'), 'agent.allowed');
    expect(socket.received.find(({ event }) => event === 'agent.allowed')).toMatchObject({
      data: { device_id, client_name: 'Web Agent', resource: API, scope: 'orders:read' },
    });
    socket.close();
    const { body } = await bearer(service.url, phone.access_token).get('/devices').expect(200);
    expect(body).toMatchObject({
      devices: [
        { device_id, device_name: 'Web Agent', signed_in: true, user_agent: BROWSER, browser: 'Firefox 150' },
      ],
    });
    const events = (await storedEvents(service.databaseUrl)).filter(({ session_id }) => session_id === sid);
    expect(events).toMatchObject([
      {
        event: 'agent_allowed',
        result: 'ok',
        device_id,
        user_id: phone.user_id,
        reason: `Web Agent (web-agent) for ${API}: orders:read`,
        actor: { type: 'user', name: phone.user_id },
      },
    ]);
  });

  it('lasts as long as the file says, also if nobody uses it', async () => {
    const agent = new Agent(service.url);
    const redeemed = (await agent.redeem(await agent.code()).expect(200)).body;
    expect(redeemed.refresh_token_expires_in).toBe(86_400);
    expect(redeemed.idle_expires_in).toBeUndefined();
    const refreshed = (await agent.refresh(redeemed).expect(200)).body;
    expect(refreshed.idle_expires_in).toBeUndefined();
    const find = 'SELECT idle_ends_at, token_hash FROM refresh_tokens WHERE session_id = $1';
    const token_hash = createHash('sha256').update(`agent\0${redeemed.refresh_token}`).digest();
    expect(await sql(find, [sidOf(redeemed)])).toEqual([{ idle_ends_at: null, token_hash }]);
    await sql(`UPDATE agent_devices SET ends_at = now() + interval '100 s' WHERE session_id = $1`, [
      sidOf(redeemed),
    ]);
    const late = (await agent.refresh(redeemed).expect(200)).body;
    expect(late.expires_in).toBeLessThanOrEqual(100);
  });

  it('is replaced by a new consent, on each computer apart', async () => {
    const first = new Agent(service.url, AGENTS.cli);
    const tokens = await first.allowed();
    const again = await new Agent(service.url, AGENTS.cli, first).allowed();
    const other = await new Agent(service.url, AGENTS.cli).allowed();
    const devices = [tokens, again, other].map((one) => claimsOf(one.access_token)['device_id']);
    expect(devices[1]).toBe(devices[0]);
    expect(devices[2]).not.toBe(devices[0]);
    expect(await isActive(tokens.access_token)).toBe(false);
    expect((await first.refresh(tokens).expect(401)).body).toMatchObject({ error: 'invalid_grant' });
    await first.refresh(again).expect(200);
    expect(await isActive(other.access_token)).toBe(true);
    const web = new Agent(service.url);
    const here = claimsOf((await web.allowed()).access_token)['device_id'];
    expect(claimsOf((await new Agent(service.url).allowed()).access_token)['device_id']).toBe(here);
  });

  it('is replaced in one transaction: an instance that stops leaves no live session behind', async () => {
    const former = await new Agent(service.url).allowed();
    await new Agent(service.url).allowed();
    const [found] = await sql(
      `SELECT s.xmin = d.xmin AS together FROM refresh_tokens AS s JOIN agent_devices AS d USING (user_id, device_id)
       WHERE s.session_id = $1 AND s.signed_out_at IS NOT NULL`,
      [sidOf(former)],
    );
    expect(found).toEqual({ together: true });
  });

  it('does not count for MAX_SESSIONS, and no session of the application for it', async () => {
    const tokens = await new Agent(service.url).allowed();
    const phones = [];
    for (let i = 0; i < 3; i++) phones.push(await signIn(service.url, who, { device_id: randomUUID() }));
    expect(await isActive(tokens.access_token)).toBe(true);
    expect(await Promise.all(phones.map(({ access_token }) => isActive(access_token)))).toEqual([
      false,
      true,
      true,
    ]);
    const programs = [tokens];
    for (const more of [{}, { resource: OTHER_API }, {}]) {
      programs.push(await new Agent(service.url, AGENTS.cli).allowed(more));
    }
    expect(await Promise.all(programs.map(({ access_token }) => isActive(access_token)))).toEqual(
      programs.map(() => true),
    );
    expect(await isActive(phones[1]!.access_token)).toBe(true);
  });

  it('is one of at most 50: a further one ends the one that was used least recently', async () => {
    const first = await new Agent(service.url, AGENTS.cli).allowed();
    for (let i = 1; i < 50; i++) await new Agent(service.url, AGENTS.cli).allowed();
    expect(await isActive(first.access_token)).toBe(true);
    await sql(
      `UPDATE refresh_tokens SET last_used_at = last_used_at - interval '1 hour' WHERE session_id = $1`,
      [sidOf(first)],
    );
    await new Agent(service.url, AGENTS.cli).allowed();
    expect(await isActive(first.access_token)).toBe(false);
    const { userId } = { userId: claimsOf(first.access_token)['sub'] };
    const live = 'SELECT count(*)::int FROM refresh_tokens WHERE user_id = $1 AND signed_out_at IS NULL';
    expect(await sql(live, [userId])).toEqual([{ count: 50 }]);
  });

  it('has a device id that no client may choose', async () => {
    const device_id = 'A6E17000-1234-8abc-8def-0123456789ab';
    for (const path of ['/oauth2/token']) {
      const body = { code: 'x', state: 'a'.repeat(64), device_id };
      const refused = await request(service.url).post(path).send(body).expect(400);
      expect(refused.body).toMatchObject({ error: 'invalid_request' });
    }
  });

  describe('ends', () => {
    it.each<[string, (user: { token: string; deviceId: string; userId: string }) => Promise<unknown>]>([
      [
        'by a sign-out of all devices',
        ({ token }) => bearer(service.url, token).post('/sign-out', { scope: 'all' }),
      ],
      [
        'by a sign-out of the other devices',
        ({ token }) => bearer(service.url, token).post('/sign-out', { scope: 'others' }),
      ],
      ['with its device', ({ token, deviceId }) => bearer(service.url, token).delete(`/devices/${deviceId}`)],
      [
        'if the user is suspended',
        ({ userId }) => bearer(service.url, SERVICE_KEY).patch(`/users/${userId}`, { suspended: true }),
      ],
      ['if the user is removed', ({ userId }) => bearer(service.url, SERVICE_KEY).delete(`/users/${userId}`)],
    ])('%s', async (_what, end) => {
      const phone = await signIn(service.url, who);
      const agent = new Agent(service.url);
      const tokens = await agent.allowed();
      const deviceId = claimsOf(tokens.access_token)['device_id'] as string;
      await end({ token: phone.access_token, deviceId, userId: phone.user_id });
      expect(await isActive(tokens.access_token)).toBe(false);
      expect((await agent.refresh(tokens).expect(401)).body).toMatchObject({ error: 'invalid_grant' });
    });

    it('leaves no row of the program with a removed device', async () => {
      const phone = await signIn(service.url, who);
      const { device_id } = claimsOf((await new Agent(service.url).allowed()).access_token);
      await bearer(service.url, phone.access_token)
        .delete(`/devices/${String(device_id)}`)
        .expect(204);
      expect(await sql('SELECT FROM agent_devices WHERE user_id = $1', [phone.user_id])).toEqual([]);
    });

    it.each(['refresh_token', 'access_token'] as const)(
      'by the program itself, with its %s',
      async (name) => {
        const agent = new Agent(service.url);
        const tokens = await agent.allowed();
        await request(service.url)
          .post('/oauth2/revoke')
          .type('form')
          .send({ token: tokens[name] })
          .expect(200);
        expect(await isActive(tokens.access_token)).toBe(false);
        await agent.refresh(tokens).expect(401);
      },
    );

    it('before its code is redeemed, if all sessions of the user end', async () => {
      const phone = await signIn(service.url, who);
      const agent = new Agent(service.url);
      const code = await agent.code();
      await bearer(service.url, phone.access_token).post('/sign-out', { scope: 'all' }).expect(204);
      expect((await agent.redeem(code).expect(401)).body).toMatchObject({ error: 'invalid_grant' });
    });
  });

  describe('and the file', () => {
    const { clients, resources } = AGENTS_CONTENT;
    const orders = resources[0]!;
    it.each([
      ['the program', { ...AGENTS_CONTENT, clients: clients.slice(1) }],
      ['the API', { ...AGENTS_CONTENT, resources: resources.slice(1) }],
      ['the last scope', { ...AGENTS_CONTENT, resources: [{ ...orders, scopes: { other: 'Other' } }] }],
    ])('ends at the start if %s is gone', async (_what, content) => {
      const agent = new Agent(service.url);
      const tokens = await agent.allowed();
      const other = await new Agent(service.url, AGENTS.secret).code();
      const changed = await service.another({ AGENTS_FILE: agentsFile(content) });
      try {
        expect(await isActive(tokens.access_token)).toBe(false);
        const [row] = await sql('SELECT ends_because FROM refresh_tokens WHERE session_id = $1', [
          sidOf(tokens),
        ]);
        expect(row).toEqual({ ends_because: 'not_allowed' });
        expect(other).toBeDefined();
      } finally {
        await changed.close();
      }
    });

    it('ends at the refresh, and loses the scopes that are gone', async () => {
      const changed = await service.another({
        AGENTS_FILE: agentsFile({
          ...AGENTS_CONTENT,
          resources: [{ ...orders, scopes: { 'orders:read': 'See your orders' } }],
        }),
      });
      try {
        const agent = new Agent(service.url);
        const tokens = await agent.allowed();
        const refreshed = await agent.refresh(tokens, {}, changed.url).expect(200);
        expect(refreshed.body).toMatchObject({ scope: 'orders:read' });
        const more = { scope: 'orders:write' };
        expect((await agent.refresh(tokens, more, changed.url).expect(400)).body.error).toBe('invalid_scope');
        const gone = new Agent(service.url);
        const others = await gone.allowed({ resource: OTHER_API });
        expect((await gone.refresh(others, {}, changed.url).expect(401)).body.error).toBe('invalid_grant');
        expect(await isActive(others.access_token)).toBe(false);
      } finally {
        await changed.close();
      }
    });
  });

  it('is bound to a key, if the program proves one', async () => {
    const key = new ClientKey();
    const agent = new Agent(service.url);
    const code = await agent.code();
    const url = `${service.url}/oauth2/token`;
    const tokens = (await agent.redeem(code).set('DPoP', key.proof(url)).expect(200)).body;
    const parts = [Buffer.from('agent\0'), key.thumbprint, Buffer.from(tokens.refresh_token)];
    const token_hash = createHash('sha256').update(Buffer.concat(parts)).digest();
    const find = 'SELECT token_hash FROM refresh_tokens WHERE session_id = $1';
    expect(await sql(find, [sidOf(tokens)])).toEqual([{ token_hash }]);
    expect((await agent.refresh(tokens).expect(400)).body).toMatchObject({ error: 'invalid_dpop_proof' });
    await agent.refresh(tokens).set('DPoP', new ClientKey().proof(url)).expect(400);
    await agent.refresh(tokens).set('DPoP', key.proof(url)).expect(200);
  });

  it('has no refresh token without a proof or a secret, if sessions must be bound', async () => {
    const strict = await service.another({ BINDING: 'required' });
    try {
      const agent = new Agent(service.url);
      const tokens = (await agent.redeem(await agent.code(), {}, strict.url).expect(200)).body;
      expect(tokens).not.toHaveProperty('refresh_token');
      expect(await isActive(tokens.access_token)).toBe(true);
    } finally {
      await strict.close();
    }
  });

  it('is in the feed of its API, without the claims of users', async () => {
    const feed = await fetch(`${service.url}/sessions/ended`, {
      headers: { Authorization: `Bearer ${API_KEY}` },
    });
    const reader = feed.body!.pipeThrough(new TextDecoderStream()).getReader();
    const phone = await signIn(service.url, who);
    await bearer(service.url, SERVICE_KEY).put(`/users/${phone.user_id}/claims`, {
      claims: { roles: ['x'] },
    });
    const tokens = await new Agent(service.url).allowed();
    await bearer(service.url, phone.access_token).post('/sign-out', { scope: 'all' });
    let text = '';
    while (!text.includes(String(sidOf(tokens)))) text += (await reader.read()).value!;
    await reader.cancel();
    expect(text).toContain('event: ended');
    expect(text).not.toContain('claims_');
  });
});

import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import request from 'supertest';
import { UsersService } from '../../src/features/administration/users/users.service.js';
import type { Origin } from '../../src/audit/audit-event.js';
import { AuditRefusals } from '../../src/audit/audit-refusals.js';
import { makeRefreshToken } from '../../src/token/refresh/refresh-token.js';
import { KeyStore } from '../../src/token/keys/key.store.js';
import { asBrowser, eventsOf, HERE, storedEvents } from '../support/audit.js';
import { query } from '../support/database.js';
import { ClientKey } from '../support/dpop.js';
import { beginSignIn, claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { useService } from '../support/use.js';

const HELPDESK = 'h'.repeat(32);
const PUSHER = 'p'.repeat(32);

describe('changes and refusals in the audit trail', () => {
  const SERVICE_KEYS = `helpdesk=users:${HELPDESK},push:${PUSHER}`;
  const { service } = useService({ LOG_LEVEL: 'info', SERVICE_KEYS });

  const during = (count: number, work: () => Promise<unknown>) => eventsOf(service.databaseUrl, count, work);
  const as = (token: string) => asBrowser(service.url, token);
  const sessionOf = ({ access_token, user_id }: Tokens) => ({
    user_id,
    session_id: claimsOf(access_token)['sid'],
  });
  const ofUser = ({ user_id }: Tokens) => ({ actor: { type: 'user', name: user_id }, ...HERE });
  const origin = (name?: string): Origin => ({
    address: '192.0.2.7',
    userAgent: 'A browser',
    requestId: randomUUID(),
    actor: { type: 'user', name },
  });
  const helpdesk = { actor: { type: 'service_key', name: 'helpdesk' }, ...HERE };

  it('the first key was made by the system', async () => {
    const [made] = await storedEvents(service.databaseUrl);
    const { kid } = (await request(service.url).get('/.well-known/jwks.json')).body.keys[0] as {
      kid: string;
    };
    expect(made).toMatchObject({ event: 'key_made', reason: `key ${kid}`, actor: { type: 'system' } });
  });

  it('keys that the command rotates and revokes', async () => {
    const events = await during(2, async () => {
      const { kid } = await service.app.get(KeyStore).rotate();
      await service.app.get(KeyStore).revoke(kid);
    });
    const reason = expect.stringMatching(/^key [0-9a-f-]{36}$/);
    const common = { result: 'ok', reason, actor: { type: 'system', name: 'keys' } };
    expect(events).toEqual([
      { event: 'key_made', ...common },
      { event: 'key_revoked', ...common },
    ]);
    expect(events[0]!.reason).toBe(events[1]!.reason);
  });

  it('a sign-out has each session and device that it ended', async () => {
    const device_id = randomUUID();
    const [one, two, without] = [
      await signIn(service.url, 'ada', { device_id }),
      await signIn(service.url, 'ada', { device_id }),
      await signIn(service.url, 'ada'),
    ];
    const common = { event: 'sign_out', result: 'ok', provider: 'stub', ...ofUser(one) };
    const current = await during(2, () => as(one.access_token).post('/sign-out', {}).expect(204));
    expect(current).toEqual(
      expect.arrayContaining([one, two].map((of) => ({ ...common, ...sessionOf(of), device_id }))),
    );
    const all = await during(1, () =>
      as(without.access_token).post('/sign-out', { scope: 'all' }).expect(204),
    );
    expect(all).toEqual([{ ...common, ...sessionOf(without) }]);
  });

  it('a revocation has the reason of the client; a lost session is no sign-out', async () => {
    for (const [reason, event] of [
      [undefined, 'sign_out'],
      ['user', 'sign_out'],
      ['replaced', 'sign_out'],
      ['key_lost', 'session_lost'],
      ['storage_lost', 'session_lost'],
    ] as const) {
      const tokens = await signIn(service.url, 'ada');
      const events = await during(1, () =>
        asBrowser(service.url).post('/oauth2/revoke', { token: tokens.refresh_token, reason }).expect(200),
      );
      const facts = { event, result: 'ok', provider: 'stub', ...(reason && { reason }) };
      expect(events).toEqual([{ ...facts, ...sessionOf(tokens), ...ofUser(tokens) }]);
    }
  });

  it('a sign-out by a service key has its name', async () => {
    const tokens = await signIn(service.url, 'ada');
    const events = await during(1, () =>
      as(HELPDESK).post(`/users/${tokens.user_id}/sign-out`, {}).expect(200, { sessions: 1 }),
    );
    expect(events).toEqual([
      { event: 'sign_out', result: 'ok', provider: 'stub', ...sessionOf(tokens), ...helpdesk },
    ]);
  });

  it('a device that is renamed and removed', async () => {
    const device_id = randomUUID();
    const tokens = await signIn(service.url, 'ada', { device_id });
    const path = `/devices/${device_id.toUpperCase()}`;
    const events = await during(3, async () => {
      await as(tokens.access_token).patch(path, { device_name: 'A name' }).expect(200);
      await as(tokens.access_token).delete(path).expect(204);
    });
    const common = { result: 'ok', user_id: tokens.user_id, device_id, provider: 'stub', ...ofUser(tokens) };
    expect(events).toEqual([
      { event: 'device_renamed', ...common },
      { event: 'sign_out', ...common, ...sessionOf(tokens) },
      { event: 'device_removed', ...common },
    ]);
  });

  it('claims, a suspension and a restoration by a service key', async () => {
    const { user_id } = await signIn(service.url, 'bo');
    const events = await during(4, async () => {
      const path = `/users/${user_id}`;
      await as(HELPDESK)
        .put(`${path}/claims`, { claims: { plan: 'pro' } })
        .expect(200);
      await as(HELPDESK).patch(path, { suspended: true }).expect(200);
      await as(HELPDESK).patch(path, { suspended: false }).expect(200);
    });
    expect(events.map(({ event }) => event)).toEqual([
      'claims_changed',
      'user_suspended',
      'sign_out',
      'user_restored',
    ]);
    for (const event of events) expect(event).toMatchObject({ user_id, provider: 'stub', ...helpdesk });
  });

  it('a removed user’s events keep the ids only, but who removed the user', async () => {
    const tokens = await signIn(service.url, 'cleo', { device_id: randomUUID() });
    const from = origin();
    const failed = (): void =>
      service.app.get(AuditRefusals).refused({
        event: 'sign_in_refused',
        userId: tokens.user_id,
        provider: 'stub',
        providerUserId: 'cleo',
        error: 'slow_down',
        reason: 'cleo@x.example has too many sessions',
        origin: from,
      });
    await during(1, () => Promise.resolve(failed()));
    await as(tokens.access_token)
      .post('/oauth2/refresh', { refresh_token: tokens.refresh_token })
      .expect(200);
    const { user_id } = tokens;
    await during(2, () => as(HELPDESK).delete(`/users/${user_id}`).expect(204));
    const mine = (await storedEvents(service.databaseUrl)).filter((event) => event.user_id === user_id);
    expect(mine.map(({ event }) => event)).toEqual([
      'sign_in',
      'sign_in_refused',
      'sign_out',
      'user_removed',
    ]);
    for (const i of [0, 2])
      expect(mine[i]).toMatchObject({
        ...sessionOf(tokens),
        device_id: expect.any(String),
        provider: 'stub',
      });
    expect(mine[3]).toMatchObject({ provider: 'stub', ...helpdesk });
    // A failure that waits for the database while the user is removed is stored afterwards.
    const [late] = await during(1, () => Promise.resolve(failed()));
    for (const event of [mine[0], mine[1], late])
      for (const name of ['provider_user_id', 'address', 'user_agent', 'reason'])
        expect(event).not.toHaveProperty(name);
    expect(late).toMatchObject({ event: 'sign_in_refused', user_id, error: 'slow_down', provider: 'stub' });
    // The client does not know: its refresh must not bring an address back.
    const refresh = () => asBrowser(service.url).post('/oauth2/refresh', tokens).expect(401);
    const [refused] = await during(1, refresh);
    expect(refused).toEqual({
      event: 'refresh_refused',
      result: 'refused',
      error: 'invalid_grant',
      reason: 'refresh token is unknown or has expired',
      actor: { type: 'user' },
      ...HERE,
    });
    const left = await query(
      service.databaseUrl,
      'SELECT address, user_agent FROM refresh_tokens WHERE user_id = $1',
      [user_id],
    );
    expect(left).toEqual([{ address: null, user_agent: null }]);
  });

  it('address and browser stay with what others did to a removed user', async () => {
    const administrator = origin(randomUUID());
    const { user_id, access_token } = await signIn(service.url, 'nora');
    await as(access_token).post('/sign-out', {}).expect(204);
    await signIn(service.url, 'nora');
    await service.app.get(UsersService).signOut(user_id, administrator);
    const bySystem = { ...origin(), actor: { type: 'system', name: 'MAX_SESSIONS' } } as const;
    await signIn(service.url, 'nora');
    await service.app.get(UsersService).signOut(user_id, bySystem); // in the user's own request
    await signIn(service.url, 'nora');
    await as(HELPDESK).delete(`/users/${user_id}`).expect(204);
    const error = 'slow_down';
    await during(2, () => {
      const refused = (from: Origin): void =>
        service.app
          .get(AuditRefusals)
          .refused({ event: 'sign_in_refused', userId: user_id, error, origin: from });
      [origin(), administrator].forEach(refused);
      return Promise.resolve();
    });
    const mine = (await storedEvents(service.databaseUrl)).filter((event) => event.user_id === user_id);
    const kept = mine.filter(({ address, user_agent }) => address !== undefined || user_agent !== undefined);
    const byAdministrator = { address: '192.0.2.7', user_agent: 'A browser', actor: administrator.actor };
    expect(mine.filter(({ event }) => event === 'sign_out')).toHaveLength(4);
    expect(kept).toEqual([
      expect.objectContaining({ event: 'sign_out', ...byAdministrator }),
      expect.objectContaining({ event: 'sign_out', ...helpdesk }),
      expect.objectContaining({ event: 'user_removed', ...helpdesk }),
      expect.objectContaining({ event: 'sign_in_refused', ...byAdministrator }),
    ]);
  });

  it('address and browser do not stay with the removal of an account by its owner', async () => {
    const { user_id } = await signIn(service.url, 'olga');
    await during(2, () => service.app.get(UsersService).remove(user_id, origin(user_id)));
    const mine = (await storedEvents(service.databaseUrl)).filter((event) => event.user_id === user_id);
    expect(mine.map(({ event, address, user_agent }) => [event, address, user_agent])).toEqual(
      ['sign_in', 'sign_out', 'user_removed'].map((event) => [event, undefined, undefined]),
    );
    expect(mine[2]).toMatchObject({ actor: { type: 'user', name: user_id } });
  });

  it('a refused refresh has user and session of a token that was ours, not those of a forged one', async () => {
    const device_id = randomUUID();
    const tokens = await signIn(service.url, 'dora', { device_id });
    await as(tokens.access_token).post('/sign-out', {}).expect(204);
    const { user_id, session_id } = sessionOf(tokens);
    const forged = makeRefreshToken({
      userId: user_id,
      sessionId: session_id as string,
      deviceId: device_id,
    });
    const refresh = (refresh_token: string) =>
      asBrowser(service.url).post('/oauth2/refresh', { refresh_token }).expect(401);
    const refused = {
      event: 'refresh_refused',
      result: 'refused',
      error: 'invalid_grant',
      reason: 'refresh token is unknown or has expired',
      ...HERE,
    };
    expect(await during(1, () => refresh(tokens.refresh_token))).toEqual([
      {
        ...refused,
        reason: expect.stringMatching(/^ended by the user at /),
        user_id,
        session_id,
        device_id,
        actor: { type: 'user', name: user_id },
      },
    ]);
    for (const token of [forged, 'x', `${tokens.refresh_token}${'!'.repeat(1000)}`]) {
      expect(await during(1, () => refresh(token))).toEqual([{ ...refused, actor: { type: 'user' } }]);
    }
    const line = service.log.findLast((text) => text.includes(`"claimed":{"user_id":"${user_id}"`));
    expect(JSON.parse(line!)).not.toHaveProperty('user_id');
  });

  it('a refresh without the key of its session', async () => {
    const key = new ClientKey();
    const state = await beginSignIn(service.url);
    const { body } = await request(service.url)
      .post('/oauth2/token')
      .set('DPoP', key.proof(`${service.url}/oauth2/token`))
      .send({ code: 'ada', state })
      .expect(200);
    const { refresh_token } = body as Tokens;
    const [event] = await during(1, () =>
      asBrowser(service.url).post('/oauth2/refresh', { refresh_token }).expect(400),
    );
    expect(event).toMatchObject({ error: 'invalid_dpop_proof', ...sessionOf(body as Tokens) });
  });

  it('a refused service key has its name, if it has one, and what was needed', async () => {
    const events = await during(2, async () => {
      await as(PUSHER).get('/audit').expect(403);
      await as('wrong'.repeat(8)).post('/push', {}).expect(401);
      await asBrowser(service.url).get('/audit').expect(401); // no credential
    });
    const refused = { event: 'service_key_refused', result: 'refused', ...HERE };
    expect(events).toEqual([
      {
        ...refused,
        error: 'insufficient_scope',
        reason: expect.stringContaining('read or support needed'),
        actor: { type: 'service_key', name: 'push-2' },
      },
      {
        ...refused,
        error: 'invalid_token',
        reason: expect.stringContaining('push needed'),
        actor: { type: 'service_key' },
      },
    ]);
    await delay(500); // more than a batch
    expect((await storedEvents(service.databaseUrl)).at(-1)).toMatchObject({ error: 'invalid_token' });
  });

  it.each<[name: string, table: string, work: (tokens: Tokens, device: string) => request.Test]>([
    [
      'a renaming',
      'devices',
      (tokens, device) => as(tokens.access_token).patch(`/devices/${device}`, { device_name: 'x' }),
    ],
    ['a sign-out', 'refresh_tokens', (tokens) => as(tokens.access_token).post('/sign-out', {})],
    [
      'claims',
      'users',
      (tokens) => as(HELPDESK).put(`/users/${tokens.user_id}/claims`, { claims: { a: 1 } }),
    ],
    [
      'a suspension',
      'users',
      (tokens) => as(HELPDESK).patch(`/users/${tokens.user_id}`, { suspended: true }),
    ],
    ['a removal', 'users', (tokens) => as(HELPDESK).delete(`/users/${tokens.user_id}`)],
  ])('%s and its event are written together, or not at all', async (name, table, work) => {
    const device = randomUUID();
    const tokens = await signIn(service.url, randomUUID(), { device_id: device });
    const state = () =>
      query(
        service.databaseUrl,
        `SELECT to_jsonb(t) - 'last_seen_at' - 'last_used_at' - 'sessions_ended_at' AS row FROM ${table} t WHERE user_id = $1`,
        [tokens.user_id],
      );
    const last = name === 'a removal' ? 'user_removed' : '';
    const check = last === '' ? 'false' : `event <> '${last}'`;
    const before = await state();
    await query(
      service.databaseUrl,
      `ALTER TABLE audit_events ADD CONSTRAINT fails CHECK (${check}) NOT VALID`,
    );
    const lines = service.log.length;
    try {
      await work(tokens, device).expect(500);
    } finally {
      await query(service.databaseUrl, 'ALTER TABLE audit_events DROP CONSTRAINT fails');
    }
    expect(await state()).toEqual(before);
    const own = (await storedEvents(service.databaseUrl)).filter((event) => event.user_id === tokens.user_id);
    expect(own.map(({ event }) => event)).toEqual(last === '' ? ['sign_in'] : ['sign_in', 'sign_out']);
    const logged = service.log.slice(lines).filter((line) => line.includes('"context":"Audit"'));
    expect(logged.map((line) => (JSON.parse(line) as { event: string }).event)).toEqual(
      last === '' ? [] : ['sign_out'],
    );
  });

  it('the log has the same event, with the same names', async () => {
    const lines = service.log.length;
    const tokens = await signIn(service.url, 'ada');
    const stored = (await storedEvents(service.databaseUrl)).findLast(({ event }) => event === 'sign_in')!;
    const { at: _at, ...members } = stored;
    const logged = service.log.slice(lines).map((line) => JSON.parse(line) as Record<string, unknown>);
    const { id: _id, ...line } = logged.find(({ event }) => event === 'sign_in')!;
    const { id: _stored, ...rest } = members;
    expect(line).toEqual({ level: 'info', time: expect.any(String), context: 'Audit', ...rest });
    expect(line['user_id']).toBe(tokens.user_id);
    for (const secret of [tokens.access_token, tokens.refresh_token])
      expect(service.log.join('')).not.toContain(secret);
  });
});

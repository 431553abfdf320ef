import { createHash, randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import request from 'supertest';
import { StateService } from '../../src/auth/states/state.service.js';
import { ChannelHistory } from '../../src/channel/channel.history.js';
import { SignOutService } from '../../src/device/sign-out.service.js';
import { NOWHERE } from '../support/audit.js';
import { bearer, beginSignIn, claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { connect, query } from '../support/database.js';
import { SERVICE_KEY, startTestService } from '../support/service.js';
import { waiting } from '../support/waiting.js';
import { useEach, useService } from '../support/use.js';

/** Which statement waits for which: another connection holds a lock, so that the order is certain. */
describe('locks', () => {
  const { provider, service } = useService({ SERVICE_KEYS: SERVICE_KEY });
  const holder = useEach(
    () => connect(service.databaseUrl),
    (one) => one.end(),
  );
  beforeEach(() => holder.query('BEGIN'));

  const as = ({ access_token }: Tokens) => bearer(service.url, access_token);
  const statusOf = async (call: PromiseLike<{ status: number }>): Promise<number> => (await call).status;
  async function eventsOf(tokens: Tokens, event: string): Promise<string[]> {
    const rows = await query<{ data: string }>(
      service.databaseUrl,
      'SELECT data FROM channel_events WHERE user_id = $1 AND event = $2',
      [tokens.user_id, event],
    );
    return rows.map(({ data }) => (JSON.parse(data) as { device_id: string }).device_id);
  }

  /** Sets up a session in the transaction of the holder, as just before the commit of a sign-in. */
  const beginSession = (userId: string, deviceId: string): Promise<unknown> =>
    holder.query(
      `INSERT INTO refresh_tokens (user_id, session_id, device_id, token_hash, expires_at)
       VALUES ($1, $2, $3, '\\x00', now() + interval '1 day')`,
      [userId, randomUUID(), deviceId],
    );

  describe('states of several instances', () => {
    const hashOf = (state: string): Buffer => createHash('sha256').update(state).digest();

    it('are locked in the order of their hashes before any is deleted, for every plan', async () => {
      // The planner would otherwise read the table in the order of insertion.
      const name = new URL(service.databaseUrl).pathname.slice(1);
      for (const plan of ['indexscan', 'indexonlyscan', 'nestloop', 'mergejoin'])
        await query(service.databaseUrl, `ALTER DATABASE ${name} SET enable_${plan} = off`);
      const other = await startTestService({ ...provider.env(), DATABASE_URL: service.databaseUrl });
      try {
        const states = other.app.get(StateService);
        const some = Array.from({ length: 3 }, () => states.make());
        some.sort((a, b) => Buffer.compare(hashOf(b), hashOf(a)));
        const [last, middle, first] = some as [string, string, string];
        const nothing = { codeChallenge: null, memory: null, clientRequest: null };
        const pending = { provider: 'stub', redirectUri: 'x', ...nothing };
        for (const state of some) await states.save(state, pending);
        for (let i = 0; i < 100; i++) await states.save(states.make(), pending);
        await query(service.databaseUrl, 'ANALYZE authorization_states');

        const hold = 'SELECT FROM authorization_states WHERE state_hash = $1 FOR UPDATE';
        await holder.query(hold, [hashOf(first)]);
        // In one turn, so in one statement.
        const spent = Promise.all([states.consume(last), states.consume(middle), states.consume(first)]);
        expect(await waiting(service.databaseUrl, 1, spent)).toBe(true);
        // It waits for the first lock, so it must not hold any later one.
        const free = `${hold} SKIP LOCKED`;
        for (const state of [last, middle])
          expect((await holder.query(free, [hashOf(state)])).rowCount).toBe(1);
        await holder.query('COMMIT');
        expect(await spent).toHaveLength(3);
      } finally {
        await other.close();
      }
    });
  });

  describe('a device that is removed', () => {
    it('during a sign-in on it: the sign-in waits, and begins again', async () => {
      const user = randomUUID();
      const device = randomUUID();
      const mine = await signIn(service.url, user, { device_id: randomUUID() });
      const lost = await signIn(service.url, user, { device_id: device, device_name: 'Lost' });
      const state = await beginSignIn(service.url);

      // The removal gets as far as telling the user's channel.
      await holder.query('SELECT FROM channels WHERE user_id = $1 FOR UPDATE', [mine.user_id]);
      const removal = statusOf(as(mine).delete(`/devices/${device}`));
      expect(await waiting(service.databaseUrl, 1, removal)).toBe(true);
      const again = request(service.url)
        .post('/oauth2/token')
        .send({ code: user, state, device_id: device })
        .then(({ status, body }) => ({ status, tokens: body as Tokens }));
      expect(await waiting(service.databaseUrl, 2, again)).toBe(true);
      await holder.query('COMMIT');

      expect(await removal).toBe(204);
      const { status, tokens } = await again;
      expect(status).toBe(200);
      await as(tokens).get('/me').expect(200);
      await as(lost).get('/me').expect(401);
      const { body } = await as(tokens).get('/devices').expect(200);
      expect((body as { devices: object[] }).devices).toContainEqual(
        expect.objectContaining({ device_id: device, device_name: null, current: true }),
      );
    });

    it('by two requests at once: one succeeds, one finds nothing', async () => {
      const device = randomUUID();
      const user = randomUUID();
      const mine = await signIn(service.url, user);
      await signIn(service.url, user, { device_id: device });
      await holder.query('SELECT FROM devices WHERE device_id = $1 FOR UPDATE', [device]);
      const removals = [1, 2].map(() => statusOf(as(mine).delete(`/devices/${device}`)));
      expect(await waiting(service.databaseUrl, 1, ...removals)).toBe(true); // one at a time and user on an instance
      await holder.query('COMMIT');
      expect((await Promise.all(removals)).toSorted((a, b) => a - b)).toEqual([204, 404]);
      expect(await eventsOf(mine, 'device.signed_out')).toEqual([device]);
    });
  });

  describe('a user who is removed', () => {
    const TABLES = ['devices', 'channels', 'channel_events', 'users'];
    const remove = (userId: string) => statusOf(bearer(service.url, SERVICE_KEY).delete(`/users/${userId}`));
    async function countOf(table: string, userId: string, condition = 'true'): Promise<number> {
      const text = `SELECT FROM ${table} WHERE user_id = $1 AND ${condition}`;
      return (await query(service.databaseUrl, text, [userId])).length;
    }
    const countAll = (userId: string) => Promise.all(TABLES.map((table) => countOf(table, userId)));
    /** The state of a removal just before its commit. */
    async function removeRows(userId: string): Promise<void> {
      for (const table of TABLES) await holder.query(`DELETE FROM ${table} WHERE user_id = $1`, [userId]);
    }

    it('during a push: the push waits, and finds no user', async () => {
      const { user_id: userId } = await signIn(service.url, randomUUID(), { device_id: randomUUID() });
      await holder.query('SELECT FROM users WHERE user_id = $1 FOR UPDATE', [userId]);
      await removeRows(userId);
      const push = statusOf(
        bearer(service.url, SERVICE_KEY)
          .post('/push', { user_id: userId, event: 'e' })
          .set('Idempotency-Key', 'k'),
      );
      expect(await waiting(service.databaseUrl, 1, push)).toBe(true);
      await holder.query('COMMIT');
      expect(await push).toBe(404);
      expect(await countAll(userId)).toEqual([0, 0, 0, 0]);
    });

    it('during a push with ttl 0: nothing waits', async () => {
      const { user_id: userId } = await signIn(service.url);
      await holder.query('SELECT FROM users WHERE user_id = $1 FOR UPDATE', [userId]);
      const event = { user_id: userId, event: 'e', ttl: 0 };
      expect(await statusOf(bearer(service.url, SERVICE_KEY).post('/push', event))).toBe(202);
    });

    it('during a sign-in: the sign-in waits before it locks anything else, and begins again', async () => {
      const [user, device] = [randomUUID(), randomUUID()];
      const { user_id: userId } = await signIn(service.url, user, { device_id: device });
      await holder.query('SELECT FROM users WHERE user_id = $1 FOR UPDATE', [userId]);
      const again = signIn(service.url, user, { device_id: device });
      expect(await waiting(service.databaseUrl, 1, again)).toBe(true);
      for (const table of ['devices', 'channels']) {
        const free = `SELECT FROM ${table} WHERE user_id = $1 FOR UPDATE NOWAIT`;
        expect((await holder.query(free, [userId])).rowCount).toBe(1);
      }
      await removeRows(userId);
      await holder.query('COMMIT');
      await as(await again)
        .get('/me')
        .expect(200);
      expect(await countAll(userId)).toEqual([1, 1, 1, 1]);
    });

    it('before the commit of a sign-in: the removal waits, and removes its rows', async () => {
      const { user_id: userId } = await signIn(service.url, randomUUID(), { device_id: randomUUID() });
      const device = randomUUID();
      await holder.query('SELECT FROM users WHERE user_id = $1 FOR NO KEY UPDATE', [userId]);
      await holder.query('INSERT INTO devices (user_id, device_id) VALUES ($1, $2)', [userId, device]);
      await beginSession(userId, device);
      const removal = remove(userId);
      expect(await waiting(service.databaseUrl, 1, removal)).toBe(true);
      await holder.query('COMMIT');
      expect(await removal).toBe(204);
      expect(await countAll(userId)).toEqual([0, 0, 0, 0]);
      expect(await countOf('refresh_tokens', userId, 'signed_out_at IS NULL')).toBe(0);
    });
  });

  it.each(['others', 'all'])(
    'a sign-out of %s waits for a sign-in on one of the devices: that session ends, too',
    async (scope) => {
      const device = randomUUID();
      const user = randomUUID();
      const mine = await signIn(service.url, user, { device_id: randomUUID() });
      await signIn(service.url, user, { device_id: device });
      // As just before the commit of a sign-in on the device: the user is locked, and the session exists.
      await holder.query('SELECT FROM users WHERE user_id = $1 FOR NO KEY UPDATE', [mine.user_id]);
      await beginSession(mine.user_id, device);
      const signOut = statusOf(as(mine).post('/sign-out', { scope }));
      expect(await waiting(service.databaseUrl, 1, signOut)).toBe(true);
      await holder.query('COMMIT');
      expect(await signOut).toBe(204);
      const living =
        'SELECT FROM refresh_tokens WHERE user_id = $1 AND device_id = $2 AND expires_at > now()';
      expect(await query(service.databaseUrl, living, [mine.user_id, device])).toEqual([]);
      expect(await eventsOf(mine, 'device.signed_out')).toContain(device);
    },
  );

  it('the last two sessions of a device, ended at once: one event for the device', async () => {
    const device = randomUUID();
    const user = randomUUID();
    const sessions = [
      await signIn(service.url, user, { device_id: device }),
      await signIn(service.url, user, { device_id: device }),
    ];
    await holder.query('SELECT FROM users WHERE user_id = $1 FOR NO KEY UPDATE', [sessions[0]!.user_id]);
    const revocations = sessions.map(({ refresh_token }) =>
      statusOf(request(service.url).post('/oauth2/revoke').send({ token: refresh_token })),
    );
    expect(await waiting(service.databaseUrl, 1, ...revocations)).toBe(true);
    await holder.query('COMMIT');
    expect(await Promise.all(revocations)).toEqual([200, 200]);
    expect(await eventsOf(sessions[0]!, 'device.signed_out')).toEqual([device]);
  });

  it('… also if the last one began first, so that its now() is older', async () => {
    const device = randomUUID();
    const user = randomUUID();
    const first = await signIn(service.url, user, { device_id: device });
    const last = await signIn(service.url, user, { device_id: device });
    const history = service.app.get(ChannelHistory);
    // As on another instance, which does not wait for the turn of this one.
    jest.spyOn(history, 'transactionOf').mockImplementationOnce((_userId, work) =>
      history.transaction(async (within) => {
        await within.manager.query('SELECT now()'); // fixed from here on
        await request(service.url).post('/oauth2/revoke').send({ token: first.refresh_token }).expect(200);
        return work(within);
      }),
    );
    const sessionId = claimsOf(last.access_token)['sid'] as string;
    const session = { userId: last.user_id, sessionId, deviceId: device };
    expect(await service.app.get(SignOutService).signOut('session', session, NOWHERE)).toBe(1);
    expect(await eventsOf(first, 'device.signed_out')).toEqual([device]);
  });
});

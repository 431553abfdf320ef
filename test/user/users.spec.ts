import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { DataSource } from 'typeorm';
import { removeMostEvents } from '../../src/channel/channel.removal.js';
import { deriveUserId } from '../../src/identity/user-id.js';
import { bearer, signIn, type Tokens } from '../support/sign-in.js';
import { watchLateness, until } from '../support/waiting.js';
import { dump, query } from '../support/database.js';
import { SERVICE_KEY } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { prepare, useInstances } from '../support/use.js';

/**
 * What an application's backend does about users (docs/endpoints.md#for-your-backend), on two instances that
 * share a database.
 */
describe('users, by service key', () => {
  let user: string;

  const { provider, here, there } = useInstances({ SERVICE_KEYS: SERVICE_KEY });
  const instances = [here, there];
  beforeEach(() => {
    user = randomUUID();
  });

  const at = (i: number): string => instances[i % 2]!.url;
  const as = ({ access_token }: Tokens, i = 0) => bearer(at(i), access_token);
  const backend = (i = 0) => bearer(at(i), SERVICE_KEY);
  const onDevice = (device_id: string = randomUUID(), more = {}) =>
    signIn(here.url, user, { device_id, ...more });
  const push = (user_id: string, i = 0) =>
    backend(i).post('/push', { user_id, event: 'news', data: 'private' });
  const refresh = (tokens: Tokens, i = 0) => request(at(i)).post('/oauth2/refresh').send(tokens);

  /** A living session is let in and can refresh, an ended one neither, on any instance. */
  async function alive(...all: Tokens[]): Promise<boolean[]> {
    const states = [];
    for (const tokens of all) {
      const calls = instances.flatMap((_, i) => [as(tokens, i).get('/me'), refresh(tokens, i)]);
      const statuses = new Set((await Promise.all(calls)).map(({ status }) => status));
      expect([...statuses]).toEqual([statuses.has(200) ? 200 : 401]);
      states.push(statuses.has(200));
    }
    return states;
  }

  /** How many rows each table has of a user; signed-out sessions and their access tokens, which hold ids only, and audit events left out. */
  async function rowsOf(userId: string): Promise<Record<string, number>> {
    const tables = await query<{ name: string }>(
      here.databaseUrl,
      `SELECT table_name AS name FROM information_schema.columns
       WHERE column_name = 'user_id' AND table_schema = current_schema() ORDER BY 1`,
    );
    const counts = tables.map(({ name }) => {
      const some: Record<string, string> = {
        refresh_tokens: 'AND signed_out_at IS NULL',
        access_tokens: 'AND false',
        audit_events: 'AND false',
      };
      const living = some[name] ?? '';
      return `SELECT '${name}' AS name, count(*)::int AS count FROM ${name} WHERE user_id = $1 ${living}`;
    });
    const rows = await query<{ name: string; count: number }>(here.databaseUrl, counts.join(' UNION ALL '), [
      userId,
    ]);
    return Object.fromEntries(rows.filter(({ count }) => count > 0).map(({ name, count }) => [name, count]));
  }

  function audited(userId: string): object[] {
    return instances
      .flatMap(({ log }) => log.map((line) => JSON.parse(line) as Record<string, unknown>))
      .filter(
        ({ context, user_id: of, event }) => context === 'Audit' && of === userId && event !== 'sign_in',
      )
      .map(({ event, actor }) => ({ event, actor }));
  }

  describe('sign-out', () => {
    it('of a user ends all sessions, on every instance; the devices stay, and so may the user', async () => {
      const device = randomUUID();
      const mine = [await onDevice(device), await onDevice(), await signIn(here.url, user)];
      const others = await signIn(here.url, randomUUID(), { device_id: device });
      const path = `/users/${others.user_id === mine[0]!.user_id ? '' : mine[0]!.user_id.toUpperCase()}/sign-out`;
      await backend(1).post(path).expect(200, { sessions: 3 });
      expect(await alive(...mine, others)).toEqual([false, false, false, true]);
      await backend(2).post(path, {}).expect(200, { sessions: 0 }); // again
      await backend().post(path, { device_id: null, else: 1 }).expect(200, { sessions: 0 });
      const again = await signIn(here.url, user);
      const { body } = await as(again).get('/devices').expect(200);
      const { devices } = body as { devices: { signed_in: boolean }[] };
      expect(devices.map(({ signed_in }) => signed_in)).toEqual([false, false]);
      const actor = { type: 'service_key', name: 'all-1' };
      expect(audited(again.user_id)).toEqual(mine.map(() => ({ event: 'sign_out', actor })));
    });

    it('of a device ends its sessions, and tells the others', async () => {
      const device = randomUUID();
      const mine = [await onDevice(device), await onDevice(device), await onDevice()];
      const socket = await SocketClient.connect(at(1), mine[2]!.access_token);
      const path = `/users/${mine[0]!.user_id}/sign-out`;
      await backend().post(path, { device_id: device.toUpperCase() }).expect(200, { sessions: 2 });
      expect(await alive(...mine)).toEqual([false, false, true]);
      expect((await socket.next('device.signed_out')).data).toMatchObject({ device_id: device });
      socket.close();
      await backend().post(path, { device_id: device }).expect(200, { sessions: 0 });
      for (const unknown of [randomUUID(), mine[0]!.user_id]) {
        const { body } = await backend().post(path, { device_id: unknown }).expect(404);
        expect(body).toMatchObject({ error: 'not_found' });
      }
      expect(await alive(mine[2]!)).toEqual([true]);
    });

    it('of what a provider calls a user: compared byte for byte, also where the provider is gone', async () => {
      const ids = ['Ada', 'ada', ' ', 'a\u0301da', '\u00e1da', '𝒶'.repeat(255), '{"a":1}', 'ada '];
      const all = [];
      for (const provider_user_id of ids) {
        provider.answerWith(200, { provider_user_id });
        all.push(await signIn(here.url));
      }
      provider.reset();
      const signOut = (provider_user_id: string, of = 'stub') =>
        backend().post('/users/sign-out', { provider: of, provider_user_id });
      for (const [i, id] of ids.entries()) {
        await signOut(id).expect(200, { sessions: 1 });
        const answers = await Promise.all(all.map((tokens) => as(tokens, 1).get('/me')));
        expect(answers.map(({ status }) => status)).toEqual(ids.map((_, other) => (other > i ? 200 : 401)));
      }
      for (const [id, of] of [['ADA'], ['ada', 'Stub'], ['ada', 'nobody'], ['da', 'stub\u0001']] as const) {
        expect((await signOut(id, of).expect(404)).body).toMatchObject({ error: 'not_found' });
      }
      const userId = deriveUserId('long-gone', 'ada');
      const insert = 'INSERT INTO users (user_id, provider, provider_user_id) VALUES ($1, $2, $3)';
      await query(here.databaseUrl, insert, [userId, 'long-gone', 'ada']);
      await signOut('ada', 'long-gone').expect(200, { sessions: 0 });
    });
  });

  describe('removal', () => {
    it('leaves nothing of the user, and nothing of theirs works; then they are somebody new', async () => {
      provider.answerWith(200, {
        provider_user_id: user,
        username: 'Secret Name',
        email: 'secret@x.example',
      });
      const device = randomUUID();
      const first = await onDevice(device, { device_name: 'Secret Phone', user_agent: 'Secret Browser' });
      provider.reset();
      const without = await signIn(here.url, user);
      const other = await signIn(here.url, randomUUID(), { device_id: device });
      const { user_id: userId } = first;
      const { body: before } = await as(first).get('/me').expect(200);
      await push(userId).set('Idempotency-Key', user).expect(202);
      await push(other.user_id).expect(202);
      const [kept] = [await rowsOf(other.user_id)];
      expect(Object.keys(await rowsOf(userId))).toEqual([
        'channel_events',
        'channels',
        'devices',
        'refresh_tokens',
        'user_words',
        'users',
      ]);

      await backend(1).delete(`/users/${userId.toUpperCase()}`).expect(204, '');
      expect(await rowsOf(userId)).toEqual({});
      expect(await rowsOf(other.user_id)).toEqual(kept);
      const stored = await dump(here.databaseUrl);
      for (const secret of ['Secret Name', 'secret@x.example', 'Secret Phone', 'Secret Browser', user]) {
        expect(stored).not.toContain(secret);
      }
      expect(await alive(first, without, other)).toEqual([false, false, true]);
      for (const [i] of instances.entries()) {
        await as(first, i).get('/devices').expect(401);
        await as(first, i).post('/sign-out').expect(401);
        await as(first, i).delete(`/devices/${device}`).expect(401);
        for (const token of [first.access_token, first.refresh_token]) {
          const asked = { token, token_type_hint: 'refresh_token' };
          await backend(i).post('/oauth2/introspect', asked).expect(200, { active: false });
        }
        await request(at(i)).post('/oauth2/revoke').send({ token: first.refresh_token }).expect(200, {});
        expect((await push(userId, i).expect(404)).body).toMatchObject({ error: 'not_found' });
        for (const gone of [
          backend(i).delete(`/users/${userId}`),
          backend(i).post(`/users/${userId}/sign-out`),
          backend(i).post('/users/sign-out', { provider: 'stub', provider_user_id: user }),
        ]) {
          expect((await gone.expect(404)).body).toMatchObject({ error: 'not_found' });
        }
      }
      const actor = { type: 'service_key', name: 'all-1' };
      const names = ['sign_out', 'sign_out', 'user_removed'];
      expect(audited(userId)).toEqual(names.map((event) => ({ event, actor })));

      const again = await onDevice();
      expect(again.user_id).toBe(userId);
      expect(await rowsOf(userId)).toEqual({
        channel_events: 1,
        channels: 1,
        devices: 1,
        refresh_tokens: 1,
        user_words: 1,
        users: 1,
      });
      const { body: after } = await as(again).get('/me').expect(200);
      const createdAt = (me: unknown) => Date.parse((me as { created_at: string }).created_at);
      expect(createdAt(after)).toBeGreaterThan(createdAt(before));
      expect((await push(userId).expect(202)).body).toMatchObject({ offset: 2 });
      expect(await alive(first, without, again)).toEqual([false, false, true]);
    });

    // Most of the offsets may be free, since short-lived events have expired.
    it.each([1, 1000])(
      'of a history that one statement cannot remove, with each offset × %i',
      async (step) => {
        const { user_id: userId } = await onDevice();
        const events = `
        INSERT INTO channel_events (user_id, event_offset, id, event, data, sent_at, expires_at)
        SELECT $1, $2 * n, gen_random_uuid(), 'e', 'null', now(), now() + interval '1 day' FROM generate_series(2, 3500) AS n`;
        await query(here.databaseUrl, events, [userId, step]);
        await query(here.databaseUrl, 'UPDATE channels SET last_offset = $2 WHERE user_id = $1', [
          userId,
          step * 3500,
        ]);
        await removeMostEvents(here.app.get(DataSource), userId);
        expect(await rowsOf(userId)).not.toHaveProperty('channel_events'); // nothing is left for the last transaction
        await backend().delete(`/users/${userId}`).expect(204);
        expect(await rowsOf(userId)).toEqual({});
      },
    );

    it('closes sockets on every instance within a second, and who comes back gets the events of the new history', async () => {
      const all = await Promise.all(instances.map(() => onDevice()));
      const { user_id: userId } = all[0]!;
      for (let i = 0; i < 5; i++) await push(userId, i).expect(202); // the old history is longer than the new one
      const sockets = await Promise.all(
        all.map((tokens, i) => SocketClient.connect(at(i), tokens.access_token)),
      );
      await until(async () => (await rowsOf(userId))['presence'] === 2);
      const [began, lateness] = [performance.now(), watchLateness()];
      await backend().delete(`/users/${userId}`).expect(204);
      expect(await rowsOf(userId)).toEqual({}); // while they are still open
      const closed = Promise.all(
        sockets.map(async (socket) => {
          await socket.closed();
          return performance.now() - began;
        }),
      );
      const back = await onDevice();
      const socket = await SocketClient.connect(at(1), back.access_token); // beside one that is about to be closed
      await push(userId, 2).expect(202);
      expect((await socket.next('news')).meta!.offset).toBe(2);
      const worst = Math.max(...(await closed));
      process.stdout.write(
        `  removal of a user: the last of 2 sockets was closed after ${worst.toFixed(0)} ms\n`,
      );
      expect(worst).toBeLessThan(1000 + 10 * lateness());
      for (const { received } of sockets) {
        const data = { reason: 'signed_out', cause: 'removed' };
        expect(received.at(-1)).toEqual({ event: 'session.ended', data });
      }
      expect(socket.disconnects).toEqual([]);
      socket.close();
      expect(await alive(...all)).toEqual([false, false]);
      await backend().delete(`/users/${userId}`).expect(204);
      expect(await rowsOf(userId)).toEqual({});
    });
  });

  describe('what is refused, and changes nothing', () => {
    let before: string[];

    const tokens = prepare(() => signIn(here.url, 'ada', { device_id: randomUUID() }));
    beforeAll(async () => {
      before = await stored();
    });
    afterAll(async () => {
      expect(await stored()).toEqual(before);
    });

    // The sign-out of an unknown user stores the name: a first sign-in may be in progress.
    const stored = async (): Promise<string[]> =>
      (await dump(here.databaseUrl)).split('\n').filter((row) => !row.startsWith('logout_tokens '));
    const call = (method: 'post' | 'delete', path: string) =>
      request(here.url)[method](path).set('Authorization', `Bearer ${SERVICE_KEY}`);
    async function expectError(test: request.Test, status: number, error: string): Promise<void> {
      const response = await test;
      expect([response.status, response.body]).toEqual([
        status,
        { error, error_description: expect.any(String) },
      ]);
    }

    it.each([
      ['no UUID', 'ada'],
      ['a UUID and more', `${randomUUID()}0`],
      ['NUL', `${randomUUID()}%00`],
      ['bytes that are not UTF-8', '%FF'],
      ['SQL', "'%20OR%201=1--"],
      ['10 kB', 'x'.repeat(10_000)],
    ])('a user_id in the path: %s', async (_name, id) => {
      await expectError(call('post', `/users/${id}/sign-out`), 400, 'invalid_request');
      await expectError(call('delete', `/users/${id}`), 400, 'invalid_request');
    });

    it.each([
      ['a user', () => `/users/${randomUUID()}/sign-out`, {}],
      ['a user, with a device', () => `/users/${randomUUID()}/sign-out`, { device_id: randomUUID() }],
      ['a device', () => `/users/${tokens.user_id}/sign-out`, { device_id: randomUUID() }],
      ['a pair', () => '/users/sign-out', { provider: 'stub', provider_user_id: 'nobody' }],
    ])('unknown: %s', async (_name, path, body) => {
      await expectError(call('post', path()).send(body), 404, 'not_found');
    });

    it.each([
      ['an array', '[]'],
      ['no UUID', '{"device_id": "x"}'],
      ['a list', `{"device_id": ["${randomUUID()}"]}`],
      ['NUL', String.raw`{"device_id": "\u0000"}`],
    ])('the body of a sign-out: %s', async (_name, body) => {
      const test = call('post', `/users/${tokens.user_id}/sign-out`).type('json').send(body);
      await expectError(test, 400, 'invalid_request');
    });

    const PAIR = { provider: 'stub', provider_user_id: 'ada' };
    it.each([
      ['a text', '"text"'],
      ['truncated', '{"provider": "'],
      ['too deep', `{"x": ${'['.repeat(101)}${']'.repeat(101)}}`],
      ['nothing', '{}'],
      ...(['provider', 'provider_user_id'] as const).flatMap((name) =>
        [undefined, '', null, 7, ['ada'], 'a\0', 'x'.repeat(256), '\ud800'].map((value): [string, string] => [
          `${name} ${JSON.stringify(value)?.slice(0, 20)}`,
          JSON.stringify({ ...PAIR, [name]: value }),
        ]),
      ),
      ['a provider that is blank', JSON.stringify({ ...PAIR, provider: ' ' })],
    ])('the body of a sign-out of a pair: %s', async (_name, body) => {
      await expectError(call('post', '/users/sign-out').type('json').send(body), 400, 'invalid_request');
    });
  });
});

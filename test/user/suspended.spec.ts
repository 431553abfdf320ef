import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { query } from '../support/database.js';
import { bearer, beginSignIn, signIn, type Tokens } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { until } from '../support/waiting.js';
import { useInstances } from '../support/use.js';

const HELPDESK = 'a-service-key-of-the-help-desk-of-us';

/** `PATCH /users/:user_id` (docs/support.md#suspend-or-remove-a-user), on two instances. */
describe('suspended users', () => {
  let user: string;

  const { here, there } = useInstances({ SERVICE_KEYS: `helpdesk=users:${HELPDESK}` });
  beforeEach(() => {
    user = randomUUID();
  });

  const suspend = (userId: string, suspended: boolean) =>
    bearer(here.url, HELPDESK).patch(`/users/${userId}`, { suspended });
  const events = async (userId: string): Promise<string[]> => {
    const rows = await query<{ event: string }>(
      here.databaseUrl,
      `SELECT event || ' ' || actor_type || ' ' || coalesce(actor_name, '') AS event FROM audit_events
       WHERE user_id = $1 AND event LIKE 'user_%' ORDER BY at`,
      [userId],
    );
    return rows.map(({ event }) => event);
  };
  /** Answer to a sign-in of the user: status and error. */
  async function tryToSignIn(): Promise<[number, string | undefined]> {
    const state = await beginSignIn(there.url, { provider: 'stub' });
    const { status, body } = await request(there.url).post('/oauth2/token').send({ code: user, state });
    return [status, (body as { error?: string }).error];
  }

  it('lose all sessions on every instance, and cannot sign in until they are restored', async () => {
    const mine = [await signIn(here.url, user, { device_id: randomUUID() }), await signIn(there.url, user)];
    const other = await signIn(here.url, randomUUID());
    const [{ user_id: userId }] = mine as [Tokens];
    const socket = await SocketClient.connect(there.url, mine[0]!.access_token);
    const { body } = await suspend(userId, true).expect(200);
    expect(body).toMatchObject({ user_id: userId, suspended_at: expect.any(String), live_sessions: 0 });
    await socket.closed();
    expect(socket.received.at(-1)).toEqual({
      event: 'session.ended',
      data: { reason: 'signed_out', cause: 'suspended' },
    });
    for (const { url } of [here, there]) {
      for (const tokens of mine) {
        await bearer(url, tokens.access_token).get('/me').expect(401);
        await request(url).post('/oauth2/refresh').send(tokens).expect(401);
      }
      await bearer(url, other.access_token).get('/me').expect(200);
    }
    expect(await tryToSignIn()).toEqual([403, 'access_denied']);
    expect((await suspend(userId, false).expect(200)).body).toMatchObject({ suspended_at: null });
    expect(await tryToSignIn()).toEqual([200, undefined]);
    expect(await events(userId)).toEqual([
      'user_suspended service_key helpdesk',
      'user_restored service_key helpdesk',
    ]);
  });

  it('may be suspended again: the time of the first call stays, sessions of a failed call end', async () => {
    const { user_id: userId } = await signIn(here.url, user);
    const first = (await suspend(userId, true).expect(200)).body as { suspended_at: string };
    await query(
      here.databaseUrl,
      `UPDATE refresh_tokens SET signed_out_at = NULL, expires_at = now() + interval '1 day' WHERE user_id = $1`,
      [userId],
    );
    expect((await suspend(userId, true).expect(200)).body).toEqual(first);
    expect(first).toMatchObject({ live_sessions: 0 });
    await suspend(userId, false).expect(200);
    await suspend(userId, false).expect(200);
    expect((await events(userId)).map((event) => event.split(' ')[0])).toEqual([
      'user_suspended',
      'user_restored',
    ]);
  });

  // A sign-in commits before the suspension, and its session ends, or after it, and is refused.
  it('have no session, however many sign-ins and suspensions happen at once', async () => {
    const { user_id: userId } = await signIn(here.url, user);
    for (let round = 0; round < 5; round++) {
      const [, ...answers] = await Promise.all([
        suspend(userId, true).expect(200),
        ...Array.from({ length: 8 }, () => tryToSignIn()),
      ]);
      for (const [status, error] of answers) {
        expect([status, error]).toEqual(status === 200 ? [200, undefined] : [403, 'access_denied']);
      }
      await until(async () => {
        const { body } = await bearer(here.url, HELPDESK).get(`/users/${userId}`).expect(200);
        return (body as { live_sessions: number }).live_sessions === 0;
      });
      expect(await tryToSignIn()).toEqual([403, 'access_denied']);
      await suspend(userId, false).expect(200);
    }
  });

  it.each([{}, { suspended: null }, { suspended: 'true' }, { suspended: 1 }])(
    '%j is refused',
    async (body) => {
      const { user_id: userId } = await signIn(here.url, user);
      const answer = await bearer(here.url, HELPDESK).patch(`/users/${userId}`, body).expect(400);
      expect(answer.body).toEqual({
        error: 'invalid_request',
        error_description: expect.stringMatching(/^suspended (must be true or false|is required)$/),
      });
    },
  );

  it('who are unknown are not found', async () => {
    expect((await suspend(randomUUID(), true).expect(404)).body).toMatchObject({ error: 'not_found' });
  });
});

import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import request from 'supertest';
import { createVerifier, type Verifier } from '../../packages/server/src/index.js';
import { query } from '../support/database.js';
import { SERVICE_KEY as KEY, type TestService } from '../support/service.js';
import { bearer, beginSignIn, signIn } from '../support/sign-in.js';
import { REDIRECT_URI, StockClient } from '../support/stock-client.js';
import { until, waiting } from '../support/waiting.js';
import { useInstances } from '../support/use.js';

/** What a removed user gains by another sign-in (docs/support.md), on two instances. */
describe('attacks of removed users', () => {
  let user: string;

  const { provider, here, there } = useInstances({
    PUBLIC_URL: 'http://localhost:9',
    SERVICE_KEYS: KEY,
    REDIRECT_URIS: REDIRECT_URI,
  });
  beforeEach(() => {
    user = randomUUID();
  });

  const backend = () => bearer(here.url, KEY);
  const suspend = (id: string, suspended: boolean) => backend().patch(`/users/${id}`, { suspended });
  const remove = (id: string) => backend().delete(`/users/${id}`);
  const removedIds = async (): Promise<string[]> => {
    const { body } = await backend().get('/users/removed').expect(200);
    return (body as { users: { user_id: string }[] }).users.map(({ user_id }) => user_id);
  };
  const rowOf = (id: string) => query(here.databaseUrl, 'SELECT * FROM users WHERE user_id = $1', [id]);
  /** Status of a sign-in of the specification. */
  async function tryToSignIn({ url }: TestService = there): Promise<number> {
    const state = await beginSignIn(url);
    const { status } = await request(url).post('/oauth2/token').send({ code: user, state });
    return status;
  }
  async function suspendedUser(): Promise<string> {
    const { user_id: id } = await signIn(here.url, user, { device_id: randomUUID() });
    await suspend(id, true).expect(200);
    return id;
  }

  it('a suspended user who was removed stays out, by both flows, until let in again', async () => {
    const id = await suspendedUser();
    await backend()
      .put(`/users/${id}/claims`, { claims: { roles: ['admin'] } })
      .expect(200);
    await remove(id).expect(204);
    const refused = await tryToSignIn();
    expect(refused).toBeGreaterThanOrEqual(400);
    expect(await tryToSignIn(here)).toBe(refused);
    const client = new StockClient();
    const code = await client.codeFrom(here.url, { code: user });
    const { status } = await client.token(here.url, code);
    expect(status).toBeGreaterThanOrEqual(400);

    await backend().get(`/users/${id}`).expect(404);
    await backend().get(`/users/${id}/claims`).expect(404);
    await backend().get(`/users/${id}/devices`).expect(404);
    await backend()
      .put(`/users/${id}/claims`, { claims: { a: 1 } })
      .expect(404);
    await backend().post(`/users/${id}/sign-out`).expect(404);
    await backend().post('/push', { user_id: id, event: 'x' }).expect(404);
    await suspend(id, true).expect(404);
    await remove(id).expect(404);
    for (const parameters of [
      '',
      '?suspended=true',
      '?suspended=false',
      `?q=${id}`,
      `?provider=stub&provider_user_id=${user}`,
    ]) {
      const { body } = await backend().get(`/users${parameters}`).expect(200);
      expect(JSON.stringify(body)).not.toContain(id);
    }
    expect(await removedIds()).toEqual([id]);

    const { body } = await suspend(id, false).expect(204);
    expect(body).toEqual({});
    expect(await removedIds()).toEqual([]);
    await suspend(id, false).expect(404);
    expect(await tryToSignIn()).toBe(200);
    const { body: again } = await backend().get(`/users/${id}`).expect(200);
    expect(again).toMatchObject({ suspended_at: null, claims: {}, provider_user_id: user });
    const { body: trail } = await backend().get(`/audit?user_id=${id}`).expect(200);
    const names = (trail as { events: { event: string }[] }).events.map(({ event }) => event);
    expect(names.filter((event) => event.startsWith('user_'))).toEqual([
      'user_restored',
      'user_removed',
      'user_suspended',
    ]);
  });

  it('of that user the id alone is kept', async () => {
    provider.claims.set(user, { roles: ['a'], name: 'Ada Lovelace' });
    const id = await suspendedUser();
    await remove(id).expect(204);
    await tryToSignIn();
    const [row] = await rowOf(id);
    const { user_id, removed_at, suspended_at, created_at, last_seen_at, ...others } = row!;
    expect(user_id).toBe(id);
    expect([suspended_at, created_at]).toEqual([removed_at, removed_at]);
    expect(last_seen_at).toBe(Infinity);
    const empty = new Set<unknown>([null, '', '0']);
    expect(Object.values(others).filter((value) => !empty.has(value))).toEqual([]);
    const traces = await query(here.databaseUrl, `SELECT FROM audit_events WHERE provider_user_id = $1`, [
      user,
    ]);
    expect(traces).toEqual([]);
  });

  it('control: a user who was not suspended comes back as a new one', async () => {
    const { user_id: id } = await signIn(here.url, user);
    await remove(id).expect(204);
    expect(await rowOf(id)).toEqual([]);
    expect(await removedIds()).not.toContain(id);
    expect(await tryToSignIn()).toBe(200);
  });

  it.each([
    ['removal', true],
    ['restoring', false],
  ] as const)(
    'sign-ins that wait for the %s are refused or let in by what it commits',
    async (_what, isRemoval) => {
      const id = await suspendedUser();
      if (!isRemoval) await remove(id).expect(204);
      const holder = new Client(here.databaseUrl);
      await holder.connect();
      try {
        await holder.query('BEGIN');
        await holder.query('SELECT FROM users WHERE user_id = $1 FOR UPDATE', [id]);
        const change = isRemoval ? remove(id).expect(204) : suspend(id, false).expect(204);
        const changed = change.then(({ status }) => status);
        await waiting(here.databaseUrl, 1, changed); // first in the queue of the row
        const answers = Promise.all([tryToSignIn(here), tryToSignIn(there), tryToSignIn(there)]);
        await waiting(here.databaseUrl, 2, answers);
        await holder.query('COMMIT');
        await changed;
        const statuses = (await answers).filter((status) => status !== 500); // 500: it has waited for too long
        if (isRemoval) expect(statuses.filter((status) => status === 200)).toEqual([]);
      } finally {
        await holder.end();
      }
      expect(await removedIds()).toEqual(
        isRemoval ? expect.arrayContaining([id]) : expect.not.arrayContaining([id]),
      );
      expect(await tryToSignIn()).toBe(isRemoval ? 403 : 200);
    },
  );

  // What a statement saw before it waited is no longer so: devices of the removed user count for nobody.
  it('a sign-in that waits for the removal of a user with 2,000 devices makes a new user, as a whole', async () => {
    const { user_id: id } = await signIn(here.url, user, { device_id: randomUUID() });
    await query(
      here.databaseUrl,
      'INSERT INTO devices (user_id, device_id) SELECT $1, gen_random_uuid() FROM generate_series(2, 2000)',
      [id],
    );
    const holder = new Client(here.databaseUrl);
    await holder.connect();
    let status: number;
    try {
      await holder.query('BEGIN');
      await holder.query('SELECT FROM devices WHERE user_id = $1 LIMIT 1 FOR UPDATE', [id]);
      const removed = remove(id).then((answer) => answer.status);
      await waiting(here.databaseUrl, 1, removed); // with the lock of the user
      const state = await beginSignIn(there.url);
      const answer = request(there.url)
        .post('/oauth2/token')
        .send({ code: user, state, device_id: randomUUID() })
        .then((response) => response.status);
      await waiting(here.databaseUrl, 2, answer);
      await holder.query('COMMIT');
      expect(await removed).toBe(204);
      status = await answer;
    } finally {
      await holder.end();
    }
    const alive = 'SELECT FROM refresh_tokens WHERE user_id = $1 AND signed_out_at IS NULL';
    const rows = [await rowOf(id), await query(here.databaseUrl, alive, [id])].map(({ length }) => length);
    expect([status, rows]).toEqual(status === 500 ? [500, [0, 0]] : [200, [1, 1]]); // 500: it has waited for too long
  });

  it('pages list each of them once, latest first; an unknown parameter is refused', async () => {
    await query(
      here.databaseUrl,
      `INSERT INTO users (user_id, provider, provider_user_id, suspended_at, removed_at)
       SELECT gen_random_uuid(), '', '', now(), now() + n % 7 * interval '1 microsecond' FROM generate_series(1, 205) AS n`,
    );
    const expected = await query<{ user_id: string }>(
      here.databaseUrl,
      'SELECT user_id FROM users WHERE removed_at IS NOT NULL ORDER BY removed_at DESC, user_id DESC',
    );
    const ids: string[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const { body } = await backend()
        .get(`/users/removed${cursor && `?cursor=${cursor}`}`)
        .expect(200);
      const page = body as { users: { user_id: string; removed_at: string }[]; next_cursor?: string };
      expect(page.users.length).toBeLessThanOrEqual(100);
      ids.push(...page.users.map(({ user_id }) => user_id));
      cursor = page.next_cursor;
    }
    expect(ids).toEqual(expected.map(({ user_id }) => user_id));
    await backend().get(`/users/removed?user_id=${ids[0]}`).expect(400);
    await request(here.url).get('/users/removed').expect(401);
  });

  describe('within ten seconds after a change of claims', () => {
    const verifiers: Verifier[] = [];
    afterEach(() => verifiers.splice(0).forEach((verifier) => verifier.close()));
    async function follow(service: TestService): Promise<Verifier> {
      const options = { issuer: 'http://localhost:9', url: service.url, serviceKey: KEY };
      const verifier = createVerifier({ ...options, onWarning: () => undefined });
      verifiers.push(verifier);
      await until(() => verifier.isNotified);
      return verifier;
    }
    const grant = (id: string, roles: string[]) =>
      backend().put(`/users/${id}/claims`, { claims: { roles } }).expect(200);
    const rolesOf = async (verifier: Verifier, token: string) => (await verifier.verify(token)).roles ?? [];

    it.each([false, true])(
      'the same identity does not get the roles of the removed user (suspended before: %s)',
      async (isSuspended) => {
        const first = await signIn(here.url, user);
        const both = [await follow(here), await follow(there)];
        await grant(first.user_id, ['admin']);
        for (const verifier of both)
          await until(async () => (await rolesOf(verifier, first.access_token)).includes('admin'));
        if (isSuspended) await suspend(first.user_id, true).expect(200);
        await remove(first.user_id).expect(204);
        if (isSuspended) await suspend(first.user_id, false).expect(204);
        provider.claims.set(user, { roles: ['reader'] });
        const second = await signIn(there.url, user);
        expect(second.user_id).toBe(first.user_id);
        both.push(await follow(there)); // a reader that connects now
        for (const verifier of both) {
          await until(
            async () => (await rolesOf(verifier, second.access_token)).join() === 'reader',
            'the own roles',
            5000,
          );
        }
      },
    );

    it('control: a change of the new user counts, also for a reader that has both', async () => {
      const first = await signIn(here.url, user);
      const early = await follow(here);
      await grant(first.user_id, ['admin']);
      await remove(first.user_id).expect(204);
      const second = await signIn(here.url, user);
      await grant(first.user_id, ['editor']);
      for (const verifier of [early, await follow(there)])
        await until(async () => (await rolesOf(verifier, second.access_token)).join() === 'editor');
    });
  });
});

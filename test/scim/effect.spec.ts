import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { deriveUserId } from '../../src/identity/user-id.js';
import { DIRECTORY_ENV, DirectoryClient } from '../support/directory.js';
import { query } from '../support/database.js';
import { SERVICE_KEY } from '../support/service.js';
import { bearer, beginSignIn, claimsOf, signIn } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { answerIn, REDIRECT_URI, returnWith, StockClient } from '../support/stock-client.js';
import { until } from '../support/waiting.js';
import { useInstances } from '../support/use.js';

/** What a directory says counts in sessions and claims (docs/directory.md#what-it-does), on two instances. */
describe('the word of a directory', () => {
  let user: string;

  const { provider, here, there } = useInstances({
    ...DIRECTORY_ENV,
    REDIRECT_URIS: `${REDIRECT_URI},http://127.0.0.1/cb`,
    SERVICE_KEYS: SERVICE_KEY,
    PROVIDERS_STUB_ALLOW: 'claim:groups=staff, claim:plan, directory&user_id=only-listed, email=a@b.example',
  });
  const directory = new DirectoryClient(here);
  beforeEach(() => {
    user = randomUUID();
    provider.claims.set(user, { plan: 'gold', groups: ['of the provider'], roles: ['of the provider'] });
  });

  const create = (more: object = {}): Promise<string> =>
    directory.create('/Users', { userName: `${user}@corp.example`, externalId: user, ...more });
  const exchange = async (code = user): Promise<request.Response> => {
    const state = await beginSignIn(there.url);
    return request(there.url).post('/oauth2/token').send({ code, state });
  };
  const sql = (text: string, ...values: unknown[]): Promise<Record<string, unknown>[]> =>
    query(here.databaseUrl, text, values);
  const claims = async (): Promise<unknown> => {
    const rows = await sql('SELECT claims FROM users WHERE user_id = $1', deriveUserId('stub', user));
    return rows[0]!['claims'];
  };

  describe.each([
    [
      'active: false',
      (id: string) => directory.patch(`/Users/${id}`, { op: 'Replace', path: 'active', value: 'False' }),
    ],
    ['DELETE', (id: string) => directory.send('DELETE', `/Users/${id}`)],
  ])('%s', (_, deactivate) => {
    it('ends all sessions on every instance, and refuses sign-ins until the user is there again', async () => {
      const tokens = await signIn(there.url, user, { device_id: randomUUID() });
      const id = await create();
      const socket = await SocketClient.connect(there.url, tokens.access_token);
      expect((await deactivate(id)).status).toBeLessThan(300);
      const { access_token, refresh_token } = tokens;
      const refreshed = await request(there.url).post('/oauth2/refresh').send({ refresh_token });
      expect(refreshed.body).toMatchObject({ error: 'invalid_grant' });
      expect((await bearer(there.url, access_token).get('/me')).status).toBe(401);
      await socket.closed();
      expect((await socket.next('session.ended')).data).toEqual({ reason: 'signed_out', cause: 'directory' });

      const refused = await exchange();
      expect([refused.status, (refused.body as { error: string }).error]).toEqual([403, 'access_denied']);
      const userId = deriveUserId('stub', user);
      await until(
        async () =>
          (
            await sql(
              `SELECT FROM audit_events WHERE event = 'sign_in_refused' AND user_id = $1 AND reason = 'deactivated'`,
              userId,
            )
          ).length === 1,
      );
      expect(
        await sql(
          `SELECT actor_type, actor_name, reason FROM audit_events WHERE event = 'sign_out' AND user_id = $1`,
          userId,
        ),
      ).toEqual([{ actor_type: 'directory', actor_name: 'stub', reason: 'directory' }]);
      const begun = await new StockClient().authorize(here.url, { provider: 'stub' }).expect(302);
      expect(answerIn(await returnWith(there.url, begun, { code: user }).expect(302))).toMatchObject({
        error: 'access_denied',
      });

      const { status } = await directory.patch(`/Users/${id}`, { op: 'replace', value: { active: true } });
      if (status === 404) await create(); // deleted before
      expect((await exchange()).status).toBe(200);
    });
  });

  it('reaches a user who has not signed in yet', async () => {
    await create({ active: false });
    expect((await exchange()).body).toMatchObject({ error: 'access_denied' });
    expect(await sql('SELECT FROM users WHERE provider_user_id = $1', user)).toEqual([]);
  });

  it('reaches a user whom the application has created', async () => {
    const id = await create({ active: false, displayName: 'Ada of the directory' });
    const admin = bearer(here.url, SERVICE_KEY);
    const body = {
      provider: 'stub',
      provider_user_id: user,
      username: 'Ada',
      claims: { groups: ['of the app'] },
    };
    await admin.post('/users', body).expect(201);
    expect((await exchange()).body).toMatchObject({ error: 'access_denied' });
    const found = async () =>
      (await admin.get(`/users/${deriveUserId('stub', user)}`).expect(200)).body as object;
    expect(await found()).toMatchObject({ username: 'Ada', last_seen_at: null });
    await directory.patch(`/Users/${id}`, {
      op: 'replace',
      value: { active: true, displayName: 'Ada Quartzstone' },
    });
    expect(await found()).toMatchObject({
      username: 'Ada Quartzstone',
      directory: { active: true },
      last_seen_at: null,
    });
    const { body: search } = await admin.get('/users?q=quartz').expect(200);
    expect((search as { users: object[] }).users).toMatchObject([{ provider_user_id: user }]);
    await directory.create('/Groups', { displayName: 'math', members: [{ value: id }] });
    expect(await claims()).toEqual({ groups: ['math', 'of the app'] });
    expect((await exchange()).status).toBe(200);
    expect(await claims()).toMatchObject({ plan: 'gold', groups: ['math', 'of the app'] });
  });

  it('is independent of suspended: both must permit', async () => {
    const { user_id } = await signIn(here.url, user);
    const id = await create();
    const admin = bearer(here.url, SERVICE_KEY);
    await admin.patch(`/users/${user_id}`, { suspended: true }).expect(200);
    await directory.patch(`/Users/${id}`, { op: 'replace', value: { active: false } }).expect(200);
    await admin.patch(`/users/${user_id}`, { suspended: false }).expect(200);
    expect((await exchange()).body).toMatchObject({ error: 'access_denied' });
    await admin.patch(`/users/${user_id}`, { suspended: true }).expect(200);
    await directory.patch(`/Users/${id}`, { op: 'replace', value: { active: true } }).expect(200);
    expect((await exchange()).body).toMatchObject({ error: 'access_denied' });
    await admin.patch(`/users/${user_id}`, { suspended: false }).expect(200);
    expect((await exchange()).status).toBe(200);
  });

  it('groups and roles replace those of the provider, live, and unite with those of the application', async () => {
    const tokens = await signIn(there.url, user);
    const { user_id } = tokens;
    await bearer(here.url, SERVICE_KEY)
      .put(`/users/${user_id}/claims`, { claims: { groups: ['of the app'] } })
      .expect(200);
    const socket = await SocketClient.connect(there.url, tokens.access_token);
    const id = await create();
    const group = await directory.create('/Groups', { displayName: 'math', members: [{ value: id }] });
    expect(await claims()).toMatchObject({ plan: 'gold', groups: ['math', 'of the app'] });
    await directory
      .patch(`/Users/${id}`, { op: 'Add', path: 'roles', value: [{ value: 'editor' }] })
      .expect(200);
    expect(await claims()).toMatchObject({ roles: ['editor'], groups: ['math', 'of the app'] });
    await directory
      .patch(`/Groups/${group}`, { op: 'replace', value: { displayName: 'physics' } })
      .expect(204);
    const ofPhysics = () =>
      socket.of('claims.changed').find(({ data }) => JSON.stringify(data).includes('physics'));
    await until(() => ofPhysics() !== undefined);
    const { data } = ofPhysics()!;
    expect(data).toEqual({ claims: { plan: 'gold', roles: ['editor'], groups: ['physics', 'of the app'] } });
    const { refresh_token } = tokens;
    const refreshed = await request(there.url).post('/oauth2/refresh').send({ refresh_token }).expect(200);
    expect(claimsOf((refreshed.body as { access_token: string }).access_token)['groups']).toEqual([
      'physics',
      'of the app',
    ]);

    // A sign-in brings the provider's claims, which stay replaced.
    const again = await signIn(here.url, user);
    expect(claimsOf(again.access_token)).toMatchObject({
      roles: ['editor'],
      groups: ['physics', 'of the app'],
    });
    await directory.send('DELETE', `/Groups/${group}`).expect(204);
    expect(await claims()).toMatchObject({ groups: ['of the app'] });
    expect(
      await sql(
        `SELECT DISTINCT actor_type FROM audit_events WHERE event = 'claims_changed' AND user_id = $1 AND actor_type <> 'service_key'`,
        user_id,
      ),
    ).toEqual([{ actor_type: 'directory' }]);
  });

  it('a user whom the directory does not know keeps the claims of the provider', async () => {
    const tokens = await signIn(here.url, user);
    expect(claimsOf(tokens.access_token)).toMatchObject({
      groups: ['of the provider'],
      roles: ['of the provider'],
    });
  });

  it('names, and addresses, of the directory replace those of the profile until the next sign-in', async () => {
    const { access_token } = await signIn(here.url, user);
    await create({
      displayName: 'Ada of the directory',
      emails: [{ value: 'ada@corp.example', type: 'work' }],
    });
    expect((await bearer(here.url, access_token).get('/me')).body).toMatchObject({
      username: 'Ada of the directory',
      email: 'ada@corp.example',
    });
    const again = await signIn(here.url, user);
    expect((await bearer(here.url, again.access_token).get('/me')).body).toMatchObject({
      username: 'Ada',
      email: null,
    });
  });

  it('a user whom allow does not cover any more is signed out', async () => {
    provider.claims.delete(user);
    const id = await create();
    expect((await exchange()).body).toMatchObject({ error: 'access_denied' });
    const group = await directory.create('/Groups', { displayName: 'staff', members: [{ value: id }] });
    const tokens = await signIn(there.url, user);
    const socket = await SocketClient.connect(there.url, tokens.access_token);
    await directory
      .patch(`/Groups/${group}`, { op: 'Remove', path: `members[value eq "${id}"]` })
      .expect(204);
    await socket.closed();
    expect((await socket.next('session.ended')).data).toEqual({ reason: 'signed_out', cause: 'not_allowed' });
    expect((await exchange()).body).toMatchObject({ error: 'access_denied' });
  });

  it('a deleted group that allow requires closes the sockets of all devices, on every instance', async () => {
    provider.claims.delete(user);
    const id = await create();
    const group = await directory.create('/Groups', { displayName: 'staff', members: [{ value: id }] });
    const sockets = await Promise.all(
      [here, there].map(async ({ url }) => {
        const { access_token } = await signIn(url, user, { device_id: randomUUID() });
        return SocketClient.connect(url, access_token);
      }),
    );
    await directory.send('DELETE', `/Groups/${group}`).expect(204);
    for (const socket of sockets) {
      await socket.closed();
      const { data } = await socket.next('session.ended');
      expect(data).toEqual({ reason: 'signed_out', cause: 'not_allowed' });
    }
  });

  it('allow=directory admits only users of the directory', async () => {
    provider.claims.delete('only-listed');
    expect((await exchange('only-listed')).body).toMatchObject({ error: 'access_denied' });
    const body = { userName: 'listed@corp.example', externalId: 'only-listed' };
    const id = await directory.create('/Users', body);
    const admitted = await exchange('only-listed');
    expect(admitted.status).toBe(200);
    await directory
      .patch(`/Users/${id}`, { op: 'replace', path: 'externalId', value: 'another' })
      .expect(200);
    const { refresh_token } = admitted.body as { refresh_token: string };
    const refreshed = await request(here.url).post('/oauth2/refresh').send({ refresh_token });
    expect(refreshed.body).toMatchObject({ error: 'invalid_grant' });
    expect((await exchange('only-listed')).body).toMatchObject({ error: 'access_denied' });
  });

  it('is shown, and found, with the user', async () => {
    const { user_id } = await signIn(here.url, user);
    const admin = bearer(here.url, SERVICE_KEY);
    const shown = async () =>
      (await admin.get(`/users/${user_id}`).expect(200)).body as { directory: unknown };
    const foundBy = async (state: string) => {
      const { body } = await admin.get(`/users?provider_user_id=${user}&provider=stub&directory=${state}`);
      return (body as { users: unknown[] }).users.length;
    };
    const counts = async () => Promise.all(['active', 'inactive', 'none'].map(foundBy));
    expect([(await shown()).directory, await counts()]).toEqual([null, [0, 0, 1]]);
    const id = await create();
    const at = expect.stringMatching(/^\d{4}-.*Z$/) as unknown;
    expect([(await shown()).directory, await counts()]).toEqual([
      { active: true, changed_at: at },
      [1, 0, 0],
    ]);
    await directory.send('DELETE', `/Users/${id}`).expect(204);
    expect([(await shown()).directory, await counts()]).toEqual([
      { active: false, changed_at: at },
      [0, 1, 0],
    ]);
    await admin.get('/users?directory=perhaps').expect(400);
  });

  it('a repeated request writes nothing', async () => {
    await signIn(here.url, user);
    const id = await create();
    const group = await directory.create('/Groups', { displayName: `g ${user}`, members: [{ value: id }] });
    const state = async () =>
      sql(`SELECT
        (SELECT array_agg(x.xmin::text ORDER BY id) FROM directory_users x) AS users,
        (SELECT array_agg(x.xmin::text ORDER BY id) FROM directory_groups x) AS groups,
        (SELECT array_agg(x.xmin::text ORDER BY group_id, user_id) FROM directory_members x) AS members,
        (SELECT count(*) FROM audit_events WHERE event IN ('directory_changed', 'claims_changed')) AS events,
        (SELECT count(*) FROM directory_tasks) AS tasks`);
    const before = await state();
    await directory
      .send('PUT', `/Users/${id}`, { userName: `${user}@corp.example`, externalId: user, active: true })
      .expect(200);
    await directory.patch(`/Users/${id}`, { op: 'replace', value: { active: 'True' } }).expect(200);
    await directory
      .patch(`/Groups/${group}`, { op: 'Add', path: 'members', value: [{ value: id }] })
      .expect(204);
    await directory
      .send('PUT', `/Groups/${group}`, { displayName: `g ${user}`, members: [{ value: id }] })
      .expect(200);
    expect(await state()).toEqual(before);
  });

  it('goes on with what an instance has left', async () => {
    const tokens = await signIn(there.url, user);
    const id = await create();
    // As if the instance was killed after the commit.
    await sql('UPDATE directory_users SET active = false WHERE id = $1', id);
    await sql(
      `INSERT INTO directory_tasks (id, provider, kind, subject, created_at) VALUES ($1, 'stub', 'directory', $2, now() - interval '6 s')`,
      randomUUID(),
      tokens.user_id,
    );
    const { refresh_token } = tokens;
    await until(
      async () => (await request(here.url).post('/oauth2/refresh').send({ refresh_token })).status === 401,
    );
    await until(async () => (await sql('SELECT FROM directory_tasks')).length === 0);
  });
});

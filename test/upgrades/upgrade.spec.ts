import { decodeProtectedHeader } from 'jose';
import request from 'supertest';
import { Transmitter } from '../provider-events/transmitter.js';
import { query } from '../support/database.js';
import { DirectoryClient } from '../support/directory.js';
import { Person } from '../support/oidc-issuer.js';
import { bearer, signIn, type Tokens } from '../support/sign-in.js';
import { SERVICE_KEY, startTestService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';
import { WebhookReceiver } from '../support/webhook-receiver.js';
import { keyOf, PUBLIC_URL, RELEASED, releasedEnv, restore, type Held } from './released.js';
import { prepare, use } from '../support/use.js';

/** This version continues with the database of a released one, and nothing is asked of a user (docs/versions.md). */
describe.each(RELEASED)('an upgrade from %s', (_version, released) => {
  let held: Held;
  let before: Readonly<Record<string, readonly object[]>>;
  const made = prepare(released);
  beforeAll(() => {
    ({ held, tables: before } = made);
  });
  const database = use(() => restore(made));
  const receiver = use(() => WebhookReceiver.start());
  beforeAll(() =>
    query(database.url, `UPDATE webhooks SET address_hash = sha256($1::text::bytea)`, [receiver.url]),
  );
  const provider = use(() => Transmitter.start());
  const stub = use(() => StubProvider.start());
  const service = use(() => {
    const env = releasedEnv(stub, provider.url, receiver.url);
    return startTestService({ ...env, DATABASE_URL: database.url });
  });

  const refresh = (refresh_token: string) =>
    request(service.url).post('/oauth2/refresh').send({ refresh_token });
  const tokens = async (refreshToken: string): Promise<Tokens> =>
    (await refresh(refreshToken).expect(200)).body as Tokens;
  const admin = () => bearer(service.url, SERVICE_KEY);

  it('loses no row of users, devices, sessions and the audit trail', async () => {
    for (const table of ['users', 'devices', 'refresh_tokens', 'audit_events']) {
      const rows = await query(database.url, `SELECT FROM ${table}`);
      expect([table, rows.length >= before[table]!.length]).toEqual([table, true]);
    }
  });

  it('refreshes each session, also one that is bound to a key', async () => {
    const { bob, ...unbound } = held.sessions;
    for (const token of Object.values(unbound)) {
      const { access_token } = await tokens(token);
      await bearer(service.url, access_token).get('/me').expect(200);
    }
    await refresh(bob).expect(400);
    await refresh(bob)
      .set('DPoP', keyOf(held.key).proof(`${PUBLIC_URL}/oauth2/refresh`))
      .expect(200);
  });

  it('signs with the same key, so that access tokens in circulation stay valid', async () => {
    const { access_token } = await tokens(held.sessions.adaPhone);
    const { kid } = decodeProtectedHeader(access_token);
    expect(before['signing_keys']).toEqual([expect.objectContaining({ kid })]);
  });

  it('ends a sign-in that has begun before', async () => {
    const { body } = await request(service.url)
      .post('/oauth2/token')
      .send({ code: 'ada', state: held.state })
      .expect(200);
    expect(body).toMatchObject({ user_id: held.ada });
  });

  it('keeps what has ended: by the provider, and by support', async () => {
    for (const token of Object.values(held.ended)) await refresh(token).expect(401);
    const { status, body } = await provider.exchange(new Person('dan'), service);
    expect([status, body]).toEqual([403, expect.objectContaining({ error: 'access_denied' })]);
    await expect(signIn(service.url, 'finn')).rejects.toThrow('access_denied');
  });

  it('resumes a socket at its offset, and goes on with the next', async () => {
    const { access_token: token } = await tokens(held.sessions.ada);
    const auth = { token, offset: held.seen.offset, id: held.seen.id };
    const socket = SocketClient.open(service.url, auth);
    try {
      expect(await socket.ready()).toMatchObject({ recovered: true, offset: held.seen.offset });
      const body = { user_id: held.ada, event: 'note', data: { n: 4 } };
      const { body: pushed } = await admin().post('/push', body).expect(202);
      await socket.until(() => socket.of('note').length === 2);
      const missing = socket.history.map(({ meta }) => meta!.offset! - held.seen.offset);
      expect(missing).toEqual(missing.map((_, i) => i + 1));
      const [missed, next] = socket.of('note').map(({ meta }) => meta!.id);
      expect([missed, next]).toEqual([held.missed, (pushed as { id: string }).id]);
    } finally {
      socket.close();
    }
  });

  it('knows an Idempotency-Key', async () => {
    const body = { user_id: held.ada, event: 'note', data: { n: 1 } };
    const push = admin().post('/push', body).set({ 'Idempotency-Key': held.idempotent.key });
    expect((await push.expect(202)).body).toMatchObject({ id: held.idempotent.id });
  });

  it('keeps claims of the application, and names of devices', async () => {
    const { access_token } = await tokens(held.sessions.ada);
    const { body } = await bearer(service.url, access_token).get('/me').expect(200);
    expect(body).toMatchObject({ claims: { plan: 'pro' } });
    const list = await bearer(service.url, access_token).get('/devices').expect(200);
    const names = (list.body as { devices: { device_name: string }[] }).devices.map((one) => one.device_name);
    expect(names.toSorted()).toEqual(['Old laptop', 'Phone']);
  });

  it('gives a device its tokens, whose request was made before', async () => {
    const { user_code, device_code } = held.device;
    const { access_token } = await tokens(held.sessions.eve);
    await bearer(service.url, access_token)
      .post(`/me/device-requests/${user_code}`, { approve: true })
      .expect(204);
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
    await request(service.url)
      .post('/oauth2/token')
      .send({ grant_type, device_code, client_id: 'cli' })
      .expect(200);
  });

  it('knows the users of a directory, and ends their sessions', async () => {
    const directory = new DirectoryClient(service);
    const { body } = await directory.send('GET', `/Users/${held.directoryUser}`).expect(200);
    expect(body).toMatchObject({ userName: 'cleo', active: true });
    const { access_token } = await tokens(held.sessions.cleo);
    const me = await bearer(service.url, access_token).get('/me').expect(200);
    expect(me.body).toMatchObject({ claims: { groups: ['staff'] } });
    await directory
      .patch(`/Users/${held.directoryUser}`, { op: 'replace', path: 'active', value: false })
      .expect(200);
    await refresh(held.sessions.cleo).expect(401);
  });

  it('delivers the webhook that was under way, once', async () => {
    await until(() => receiver.firsts.length > 0);
    expect(receiver.deliveries.map(({ body: { type } }) => type)).toEqual(['device_renamed']);
    expect(receiver.invalid).toEqual([]);
  });
});

import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { DIRECTORY_ENV, DirectoryClient } from '../support/directory.js';
import { query } from '../support/database.js';
import { SERVICE_KEY, startTestService } from '../support/service.js';
import { bearer, claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';
import { use } from '../support/use.js';

const CLAIM = { PROVIDERS_STUB_SCIM_CLAIM: 'text' };

/** The name in the directory is another claim than the user id (docs/directory.md#who-is-who). */
describe('a directory with scim_claim', () => {
  let env: Record<string, string>;

  const provider = use(() => StubProvider.start());
  beforeAll(() => {
    env = { ...provider.env(), PUBLIC_URL: 'http://localhost:3000', SERVICE_KEYS: SERVICE_KEY };
  });
  const before = use(() => startTestService(env));
  const scim = () => ({ ...DIRECTORY_ENV, ...CLAIM, DATABASE_URL: before.databaseUrl });
  const service = use(() => startTestService({ ...env, ...scim() }));
  const directory = new DirectoryClient(service);

  const refresh = ({ refresh_token }: Tokens): Promise<request.Response> =>
    request(service.url).post('/oauth2/refresh').send({ refresh_token });
  const newUser = (employee: string): string => {
    const user = randomUUID();
    provider.claims.set(user, { text: employee });
    return user;
  };

  it('reaches the user by this claim, byte for byte', async () => {
    const employee = `E-${randomUUID()}`;
    const tokens = await signIn(service.url, newUser(employee));
    const upper = await directory.create('/Users', {
      userName: randomUUID(),
      externalId: employee.toUpperCase(),
    });
    await directory.send('DELETE', `/Users/${upper}`).expect(204);
    const isSame = employee === employee.toUpperCase();
    expect((await refresh(tokens)).status).toBe(isSame ? 401 : 200);
    const id = await directory.create('/Users', { userName: randomUUID(), externalId: employee });
    await directory.create('/Groups', { displayName: 'math', members: [{ value: id }] });
    const { body } = await refresh(tokens);
    expect(claimsOf((body as Tokens).access_token)).toMatchObject({ groups: ['math'] });
    await directory.patch(`/Users/${id}`, { op: 'Replace', path: 'active', value: 'False' }).expect(200);
    expect((await refresh(tokens)).body).toMatchObject({ error: 'invalid_grant' });
  });

  it('sessions from before end right after their next refresh, and not again', async () => {
    const user = newUser(`E-${randomUUID()}`);
    const [old, second] = [await signIn(before.url, user), await signIn(before.url, user)];
    const socket = await SocketClient.connect(service.url, second.access_token);
    await until(async () => (await refresh(old)).status === 401);
    expect((await refresh(second)).body).toMatchObject({ error: 'invalid_grant' });
    await socket.closed();
    expect((await socket.next('session.ended')).data).toEqual({ reason: 'signed_out', cause: 'directory' });
    const tokens = await signIn(service.url, user);
    expect((await refresh(tokens)).status).toBe(200);
    const without = randomUUID(); // the sign-in has no such claim
    const other = await signIn(service.url, without);
    for (let i = 0; i < 5; i++) expect((await refresh(other)).status).toBe(200);
  });

  it('sessions from before go on if the claim was kept already', async () => {
    const prepared = await startTestService({ ...env, ...CLAIM, DATABASE_URL: before.databaseUrl });
    const employee = `E-${randomUUID()}`;
    const tokens = await signIn(prepared.url, newUser(employee));
    await prepared.close();
    expect((await refresh(tokens)).status).toBe(200);
    const body = { userName: randomUUID(), externalId: employee, active: false };
    await directory.create('/Users', body);
    expect((await refresh(tokens)).body).toMatchObject({ error: 'invalid_grant' });
  });

  it('sessions from before end at another use as well', async () => {
    const old = await signIn(before.url, newUser(`E-${randomUUID()}`));
    await until(async () => (await bearer(service.url, old.access_token).get('/me')).status === 401);
  });

  it('a forged token ends nothing', async () => {
    const old = await signIn(before.url, newUser(`E-${randomUUID()}`));
    const forged = { ...old, refresh_token: `${old.refresh_token.slice(0, -8)}AAAAAAAA` };
    expect((await refresh(forged)).status).toBe(401);
    expect((await bearer(before.url, old.access_token).get('/me')).status).toBe(200);
  });

  it('the name of a removed user is removed', async () => {
    const { user_id } = await signIn(service.url, newUser(`E-${randomUUID()}`));
    const text = `SELECT FROM user_words WHERE user_id = $1 AND word LIKE 'name:%'`;
    expect(await query(service.databaseUrl, text, [user_id])).toHaveLength(1);
    await bearer(service.url, SERVICE_KEY).delete(`/users/${user_id}`).expect(204);
    expect(await query(service.databaseUrl, text, [user_id])).toEqual([]);
  });
});

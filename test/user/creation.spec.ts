import { randomUUID } from 'node:crypto';
import { deriveUserId } from '../../src/identity/user-id.js';
import { SERVICE_KEY } from '../support/service.js';
import { bearer, claimsOf, signIn } from '../support/sign-in.js';
import { useInstances } from '../support/use.js';

type User = Record<string, unknown>;

/** `POST /users` on two instances that share a database. */
describe('a user who is created before the first sign-in', () => {
  let user: string;
  let userId: string;

  const { provider, here, there } = useInstances({ SERVICE_KEYS: SERVICE_KEY });
  const instances = [here, there];
  beforeEach(() => {
    user = randomUUID();
    userId = deriveUserId('stub', user);
  });

  const backend = (i = 0) => bearer(instances[i % 2]!.url, SERVICE_KEY);
  const create = (more: object = {}, i = 0) =>
    backend(i).post('/users', { provider: 'stub', provider_user_id: user, ...more });
  const find = async (): Promise<User> => (await backend().get(`/users/${userId}`).expect(200)).body as User;
  async function events(): Promise<User[]> {
    const { body } = await backend().get(`/audit?user_id=${userId}`).expect(200);
    return (body as { events: User[] }).events;
  }

  it('is there at once, and taken over by the first sign-in; the application’s claims stay', async () => {
    const email = `${user}@example.com`;
    const profile = { username: 'Adamantia', email, claims: { plan: 'pro', roles: ['author'] } };
    const { body: created } = (await create(profile).expect(201)) as { body: User };
    expect(created).toEqual({
      user_id: userId,
      provider: 'stub',
      provider_user_id: user,
      ...profile,
      avatar_url: null,
      suspended_at: null,
      directory: null,
      created_at: expect.any(String),
      last_seen_at: null,
      online: false,
      live_sessions: 0,
    });
    const others = { username: 'Eve', email: 'eve@example.com', claims: { plan: 'free' } };
    expect((await create(others, 1).expect(200)).body).toEqual(created);
    for (const search of [`q=${email}`, 'q=adam', `provider=stub&provider_user_id=${user}`]) {
      expect((await backend().get(`/users?${search}`).expect(200)).body).toEqual({ users: [created] });
    }
    const changes = { source: 'application', added: profile.claims, removed: {} };
    const changed = { event: 'claims_changed', provider: 'stub', changes };
    const actor = { type: 'service_key', name: 'all-1' };
    expect(await events()).toEqual([expect.objectContaining({ ...changed, actor })]);

    provider.answerWith(200, {
      provider_user_id: user,
      username: 'Ada Lovelace',
      claims: { roles: ['reader'] },
    });
    const tokens = await signIn(instances[1]!.url, user);
    provider.reset();
    expect(tokens.user_id).toBe(userId);
    const claims = { plan: 'pro', roles: ['reader', 'author'] };
    expect(claimsOf(tokens.access_token)).toMatchObject({ roles: claims.roles, claims: { plan: 'pro' } });
    expect(await find()).toMatchObject({
      username: 'Ada Lovelace',
      email: null,
      claims,
      created_at: created['created_at'],
      last_seen_at: expect.any(String),
      live_sessions: 1,
    });
    expect((await events()).map(({ event }) => event)).toEqual([
      'sign_in',
      'claims_changed',
      'claims_changed',
    ]);
    expect((await create(others).expect(200)).body).toEqual(expect.objectContaining({ claims }));
  });

  it('needs no more than the identity, and then has no event', async () => {
    expect((await create().expect(201)).body).toMatchObject({ username: null, email: null, claims: {} });
    await create({ claims: {} }).expect(200);
    expect(await events()).toEqual([]);
    await signIn(instances[0]!.url, user);
    expect((await find())['last_seen_at']).toEqual(expect.any(String));
    const empty = { provider_user_id: randomUUID(), claims: { roles: [] } };
    expect((await create(empty).expect(201)).body).toMatchObject({ claims: {} });
    await signIn(instances[1]!.url, empty.provider_user_id);
  });

  const many = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`claim-${i}`, i]));
  it.each([
    ['of an unknown provider', { provider: 'nobody' }],
    ['without a provider', { provider: undefined }],
    ['without an id', { provider_user_id: undefined }],
    ['with an empty id', { provider_user_id: '' }],
    ['with an id that is too long', { provider_user_id: 'x'.repeat(256) }],
    ['with a name that is too long', { username: 'x'.repeat(256) }],
    ['with a name that is no text', { username: 1 }],
    ['with an address that cannot be stored', { email: 'a\0@example.com' }],
    ['with claims that are no object', { claims: ['admin'] }],
    ['with a reserved claim', { claims: { sub: 'x' } }],
    ['with roles that are no list', { claims: { roles: 1 } }],
    ['with too many claims', { claims: many }],
    ['with claims that are too long', { claims: { text: 'x'.repeat(4096) } }],
  ])('%s, is refused', async (_what, more) => {
    expect((await create(more).expect(400)).body).toMatchObject({ error: 'invalid_request' });
    await backend().get(`/users/${userId}`).expect(404);
    expect(await events()).toEqual([]);
  });

  it('who was removed and is kept out, is refused until that is lifted', async () => {
    await create().expect(201);
    await backend().patch(`/users/${userId}`, { suspended: true }).expect(200);
    await create().expect(200);
    await backend().delete(`/users/${userId}`).expect(204);
    expect((await create({ claims: { plan: 'pro' } }, 1).expect(403)).body).toMatchObject({
      error: 'access_denied',
    });
    await backend().patch(`/users/${userId}`, { suspended: false }).expect(204);
    await create({ claims: { plan: 'pro' } }).expect(201);
    await backend().delete(`/users/${userId}`).expect(204);
    await create().expect(201);
  });

  it('by twenty calls at once, is created by one', async () => {
    const calls = Array.from({ length: 20 }, (_, i) => create({ claims: { call: i } }, i));
    const answers = await Promise.all(calls);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(19);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    const { claims } = await find();
    const winner = answers.findIndex(({ status }) => status === 201);
    expect(claims).toEqual({ call: winner });
    expect(answers.map(({ body }) => (body as User)['claims'])).toEqual(answers.map(() => claims));
    expect(await events()).toHaveLength(1);
  });

  it('beside the first sign-in: both succeed, and the token has the claims that are stored', async () => {
    for (let i = 0; i < 20; i++) {
      user = randomUUID();
      userId = deriveUserId('stub', user);
      const [created, tokens] = await Promise.all([
        create({ claims: { plan: 'pro' } }, i),
        signIn(instances[1 - (i % 2)]!.url, user),
      ]);
      expect([200, 201]).toContain(created.status);
      const claims = created.status === 201 ? { plan: 'pro' } : {};
      expect(await find()).toMatchObject({ claims, live_sessions: 1, last_seen_at: expect.any(String) });
      expect(claimsOf(tokens.access_token)['claims'] ?? {}).toEqual(claims);
    }
  });
});

import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { Sql } from '../../src/database/statements/sql.js';
import { Events } from '../../src/events.js';
import { ProfileStore } from '../../src/user/profile.store.js';
import { bearer, signIn, type Tokens } from '../support/sign-in.js';
import { query } from '../support/database.js';
import { startTestService, type TestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';

/** Concurrent requests are batched, and each gets its own user only (contract §4). */
describe('GET /me of several users at once', () => {
  let provider: StubProvider;
  let service: TestService;
  let users: string[];
  let tokens: Tokens[];

  beforeAll(async () => {
    provider = await StubProvider.start();
    service = await startTestService(provider.env());
    users = Array.from({ length: 8 }, () => randomUUID());
    tokens = await Promise.all(users.map((user) => signIn(service.url, user)));
    const name = `UPDATE users SET username = 'of ' || provider_user_id`;
    await query(service.databaseUrl, name);
  });
  afterAll(async () => {
    await service?.close();
    await provider?.close();
  });

  const namesOf = (all: readonly ({ username: string | null } | undefined)[]) =>
    all.map((one) => one?.username);

  it('gives each their own, also to those who ask twice', async () => {
    const both = [...tokens, ...tokens];
    const answers = await Promise.all(
      both.map(({ access_token }) => bearer(service.url, access_token).get('/me').expect(200)),
    );
    expect(answers.map(({ body }) => body as object)).toEqual(
      both.map(({ user_id }, i) => ({
        user_id,
        username: `of ${users[i % users.length]}`,
        email: null,
        avatar_url: null,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z$/),
      })),
    );
  });

  it('is one statement, in which one who is not there harms nobody; on Citus each asks alone', async () => {
    const shared: number[] = [];
    service.app
      .get(Events)
      .on('statement.shared', ({ name, calls }) => void (name === 'profile' && shared.push(calls)));
    const ids = [...tokens.map(({ user_id }) => user_id).toReversed(), randomUUID(), tokens[3]!.user_id];
    const names = [...users.toReversed().map((user) => `of ${user}`), undefined, `of ${users[3]}`];
    const together = service.app.get(ProfileStore);
    expect(namesOf(await Promise.all(ids.map((id) => together.find(id))))).toEqual(names);
    expect(shared).toEqual([ids.length]);
    const alone = new ProfileStore(new Sql(service.app.get(DataSource), true));
    expect(namesOf(await Promise.all(ids.map((id) => alone.find(id))))).toEqual(names);
    expect(shared).toHaveLength(1);
  });
});

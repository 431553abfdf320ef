import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { DIRECTORY_ENV, DirectoryClient } from '../support/directory.js';
import { query } from '../support/database.js';
import { beginSignIn, signIn } from '../support/sign-in.js';
import { until } from '../support/waiting.js';
import { useService } from '../support/use.js';

/** Names that do not fit into a token together (docs/guides/roles.md#limits). */
const GROUPS = 60;

/** A directory with `scim_attribute=userName`, and `allow` by a group. */
describe('a directory of user names', () => {
  let user: string;

  const { service } = useService({
    ...DIRECTORY_ENV,
    PROVIDERS_STUB_SCIM_ATTRIBUTE: 'userName',
    PROVIDERS_STUB_ALLOW: 'claim:groups=zz staff',
  });
  const directory = new DirectoryClient(service);
  beforeEach(() => void (user = `Person ${randomUUID()}`));

  const statusOf = async (code: string): Promise<number> => {
    const state = await beginSignIn(service.url);
    return (await request(service.url).post('/oauth2/token').send({ code, state })).status;
  };
  const create = (displayName: string, ...ids: string[]): Promise<string> =>
    directory.create('/Groups', { displayName, members: ids.map((value) => ({ value })) });

  it('finds the person in any case, until it deletes the user', async () => {
    const id = await directory.create('/Users', { userName: user });
    const group = await create('zz staff', id);
    expect([await statusOf(user), await statusOf(user.toLowerCase())]).toEqual([200, 200]);
    await directory.send('DELETE', `/Users/${id}`).expect(204);
    expect([await statusOf(user), await statusOf(user.toUpperCase())]).toEqual([403, 403]);
    const again = await directory.create('/Users', { userName: user });
    const add = { op: 'add', path: 'members', value: [{ value: again }] };
    await directory.patch(`/Groups/${group}`, add).expect(204);
    expect(await statusOf(user)).toBe(200);
  });

  it('allow knows groups that do not fit into a token', async () => {
    const id = await directory.create('/Users', { userName: user });
    await create('zz staff', id);
    for (let i = 0; i < GROUPS; i++) await create(`${i} ${'x'.repeat(100)}`, id);
    const { refresh_token } = await signIn(service.url, user);
    await create('one more', id);
    await request(service.url).post('/oauth2/refresh').send({ refresh_token }).expect(200);
  });

  it('what is left of a provider without a directory keeps nobody from being signed out', async () => {
    const id = await directory.create('/Users', { userName: user });
    await create('zz staff', id);
    const { refresh_token, user_id } = await signIn(service.url, user);
    await query(
      service.databaseUrl,
      `INSERT INTO directory_tasks (id, provider, kind, subject, created_at)
       SELECT gen_random_uuid(), provider, 'directory', subject, now() - age
       FROM unnest($1::text[], $2::text[], $3::interval[]) AS n (provider, subject, age)`,
      [
        [...Array<string>(100).fill('gone'), 'stub'],
        [...Array<string>(100).fill('someone'), user_id],
        [...Array<string>(100).fill('1 h'), '1 min'],
      ],
    );
    await until(async () => {
      const { status } = await request(service.url).post('/oauth2/refresh').send({ refresh_token });
      return status === 401;
    });
  });
});

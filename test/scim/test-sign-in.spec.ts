import { randomUUID } from 'node:crypto';
import { DIRECTORY_ENV, DirectoryClient } from '../support/directory.js';
import { query } from '../support/database.js';
import { SERVICE_KEY } from '../support/service.js';
import { bearer } from '../support/sign-in.js';
import { useService } from '../support/use.js';

/** What a test sign-in says of a directory (docs/administration.md#the-views). */
describe('a test sign-in with a directory', () => {
  const { service } = useService({
    ...DIRECTORY_ENV,
    PROVIDERS_STUB_ALLOW: 'directory',
    SERVICE_KEYS: SERVICE_KEY,
  });
  const directory = new DirectoryClient(service);

  const test = async (code: string): Promise<object> => {
    const call = (body: object) =>
      bearer(service.url, SERVICE_KEY).post('/admin/providers/stub/test', body).expect(200);
    const { state } = (await call({})).body as { state: string };
    return (await call({ code, state })).body as object;
  };

  it('shows whether it lets the user in, and its groups; nothing is written', async () => {
    const user = randomUUID();
    expect(await test(user)).toMatchObject({
      directory: 'none',
      allow: { allowed: false, reason: 'directory' },
    });
    const id = await directory.create('/Users', { userName: user, externalId: user });
    await directory.create('/Groups', { displayName: 'math', members: [{ value: id }] });
    expect(await test(user)).toMatchObject({
      directory: 'active',
      claims_kept: { groups: ['math'] },
      allow: { allowed: true, by: 'directory' },
    });
    await directory.patch(`/Users/${id}`, { op: 'replace', value: { active: false } }).expect(200);
    expect(await test(user)).toMatchObject({ directory: 'inactive', identity: { provider_user_id: user } });
    expect(await query(service.databaseUrl, 'SELECT FROM directory_links', [])).toEqual([]);
  });
});

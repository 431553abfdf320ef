import { randomUUID } from 'node:crypto';
import { DIRECTORY_ENV, DirectoryClient } from '../support/directory.js';
import { useService } from '../support/use.js';

const USER = 'urn:ietf:params:scim:schemas:core:2.0:User';
const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group';
const LIST = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';

/** The requests of Okta, as https://developer.okta.com/docs/api/openapi/okta-scim/guides/scim-20/ shows them. */
describe('Okta', () => {
  const { service } = useService(DIRECTORY_ENV);
  const directory = new DirectoryClient(service);

  const sent = (userName: string) => ({
    schemas: [USER],
    userName,
    name: { givenName: 'Test', familyName: 'User' },
    emails: [{ primary: true, value: userName, type: 'work' }],
    displayName: 'Test User',
    locale: 'en-US',
    externalId: randomUUID(),
    groups: [],
    password: '1mz050nq-a-secret',
    active: true,
  });
  const newName = (): string => `test.user.${randomUUID()}@okta.local`;
  const make = async (): Promise<{ id: string; user: ReturnType<typeof sent> }> => {
    const user = sent(newName());
    return { id: await directory.create('/Users', user), user };
  };
  const read = async (path: string): Promise<Record<string, unknown>> =>
    (await directory.send('GET', path).expect(200)).body as Record<string, unknown>;

  it('asks whether a user exists before it creates one', async () => {
    const user = sent(newName());
    const query = `?filter=userName%20eq%20%22${encodeURIComponent(user.userName)}%22&startIndex=1&count=100`;
    expect(await read(`/Users${query}`)).toEqual({
      schemas: [LIST],
      totalResults: 0,
      startIndex: 1,
      itemsPerPage: 0,
      Resources: [],
    });
    const { body } = await directory.send('POST', '/Users', user).expect(201);
    expect(body).toMatchObject({ userName: user.userName, active: true, name: user.name });
    expect(JSON.stringify(body)).not.toMatch(/password|1mz050nq/);
    expect(service.log.join('')).not.toContain('1mz050nq');
    expect(await read(`/Users${query}`)).toMatchObject({ totalResults: 1, Resources: [body] });
    await directory.send('POST', '/Users', user).expect(409);
  });

  it('reads all users page by page, in a stable order', async () => {
    await Promise.all(Array.from({ length: 5 }, make));
    const { totalResults } = await read('/Users?startIndex=1&count=2');
    const ids: string[] = [];
    for (let at = 1; at <= (totalResults as number); at += 2) {
      const page = await read(`/Users?startIndex=${at}&count=2`);
      expect(page).toMatchObject({ totalResults, startIndex: at });
      ids.push(...(page['Resources'] as { id: string }[]).map(({ id }) => id));
    }
    expect(ids.length).toBe(totalResults);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('updates a profile, and deactivates and reactivates a user, by PUT', async () => {
    const { id, user } = await make();
    const got = await read(`/Users/${id}`);
    const name = { givenName: 'Another', familyName: 'User' };
    const { body } = await directory.send('PUT', `/Users/${id}`, { ...got, name }).expect(200);
    expect(body).toMatchObject({ id, name, userName: user.userName, active: true });
    for (const active of [false, true]) {
      const put = await directory.send('PUT', `/Users/${id}`, { ...got, name, active }).expect(200);
      expect(put.body).toMatchObject({ active });
    }
  });

  it('deactivates and reactivates a user by PATCH without a path', async () => {
    const { id } = await make();
    for (const active of [false, true]) {
      const { body } = await directory
        .patch(`/Users/${id}`, { op: 'replace', value: { active } })
        .expect(200);
      expect(body).toMatchObject({ id, active });
    }
  });

  it('a PUT without active does not let a user in again', async () => {
    const { id, user } = await make();
    await directory.patch(`/Users/${id}`, { op: 'replace', value: { active: false } }).expect(200);
    const { active: _, ...others } = user;
    const { body } = await directory.send('PUT', `/Users/${id}`, others).expect(200);
    expect(body).toMatchObject({ active: false });
  });

  it('creates a group, renames it with its id beside, changes members by PATCH and by PUT', async () => {
    const [one, two] = await Promise.all([make(), make()]);
    const displayName = `Test SCIMv2 ${randomUUID()}`;
    const created = { schemas: [GROUP], displayName, members: [{ value: one.id, display: 'x@okta.local' }] };
    const { body } = await directory.send('POST', '/Groups', created).expect(201);
    const { id } = body as { id: string };
    expect(body).toMatchObject({ displayName, members: [{ value: one.id }] });
    const filter = encodeURIComponent(`displayName eq "${displayName}"`);
    expect(await read(`/Groups?filter=${filter}&startIndex=1&count=100`)).toMatchObject({ totalResults: 1 });
    const renamed = `${displayName} renamed`;
    await directory
      .patch(`/Groups/${id}`, { op: 'replace', value: { id, displayName: renamed } })
      .expect(204, '');
    const members = [
      { op: 'remove', path: `members[value eq "${one.id}"]` },
      { op: 'add', path: 'members', value: [{ value: two.id, display: 'test.user@okta.local' }] },
    ];
    await directory.patch(`/Groups/${id}`, ...members).expect(204);
    expect(await read(`/Groups/${id}`)).toMatchObject({
      displayName: renamed,
      members: [{ value: two.id, $ref: `${service.url}/scim/v2/stub/Users/${two.id}` }],
    });
    await directory
      .patch(`/Groups/${id}`, { op: 'replace', path: 'members', value: [{ value: one.id }] })
      .expect(204);
    expect(await read(`/Groups/${id}`)).toMatchObject({ members: [{ value: one.id }] });
    const all = [{ value: one.id }, { value: two.id }];
    const put = await directory.send('PUT', `/Groups/${id}`, { ...created, id, displayName, members: all });
    expect(put.status).toBe(200);
    expect((put.body as { members: unknown[] }).members.length).toBe(2);
    await directory.send('DELETE', `/Groups/${id}`).expect(204);
  });
});

import { randomUUID } from 'node:crypto';
import { DIRECTORY_ENV, DirectoryClient } from '../support/directory.js';
import { useService } from '../support/use.js';

const USER = 'urn:ietf:params:scim:schemas:core:2.0:User';
const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group';
const ENTRA_GROUP = 'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group';
const ERROR = 'urn:ietf:params:scim:api:messages:2.0:Error';
const LIST = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';

/**
 * The requests of Microsoft Entra's provisioning service, in the order and form of
 * https://learn.microsoft.com/entra/identity/app-provisioning/use-scim-to-provision-users-and-groups
 */
describe('Entra', () => {
  const { service } = useService(DIRECTORY_ENV);
  const directory = new DirectoryClient(service);

  const sent = (externalId: string, userName: string) => ({
    schemas: [USER, ENTERPRISE],
    externalId,
    userName,
    active: true,
    emails: [{ primary: true, type: 'work', value: `${userName}@corp.example` }],
    meta: { resourceType: 'User' },
    name: { formatted: 'givenName familyName', familyName: 'familyName', givenName: 'givenName' },
    roles: [],
  });
  const make = async (): Promise<{ id: string; userName: string; externalId: string }> => {
    const [externalId, userName] = [randomUUID(), `Test_User_${randomUUID()}`];
    return { id: await directory.create('/Users', sent(externalId, userName)), userName, externalId };
  };
  const read = async (path: string): Promise<Record<string, unknown>> =>
    (await directory.send('GET', path).expect(200)).body as Record<string, unknown>;

  it('tests the connection with a random id: an empty list, no error', async () => {
    const filter = encodeURIComponent(`userName eq "non-existent user"`);
    for (const path of [`/Users?filter=${filter}`, `/Users?filter=externalId%20eq%20%22${randomUUID()}%22`]) {
      const { body, headers } = await directory.send('GET', path).expect(200);
      expect(headers['content-type']).toMatch(/^application\/scim\+json/);
      expect(body).toEqual({
        schemas: [LIST],
        totalResults: 0,
        startIndex: 1,
        itemsPerPage: 0,
        Resources: [],
      });
    }
  });

  it('creates a user, and gets the user back', async () => {
    const [externalId, userName] = [randomUUID(), `Test_User_${randomUUID()}`];
    const { body, headers } = await directory.send('POST', '/Users', sent(externalId, userName)).expect(201);
    expect(body).toMatchObject({
      schemas: [USER],
      externalId,
      userName,
      active: true,
      emails: [{ primary: true, type: 'work', value: `${userName}@corp.example` }],
      name: { formatted: 'givenName familyName', familyName: 'familyName', givenName: 'givenName' },
      meta: { resourceType: 'User', location: headers['location'] },
    });
    expect(body).not.toHaveProperty('roles'); // an empty list is no value (RFC 7643 §2.5)
    const { id } = body as { id: string };
    expect(headers['location']).toBe(`${service.url}/scim/v2/stub/Users/${id}`);
    expect(await read(`/Users/${id}`)).toEqual(body);
  });

  it('finds a user by the matching attribute, in any case of the userName', async () => {
    const { id, userName, externalId } = await make();
    for (const filter of [
      `userName eq "${userName}"`,
      `userName eq "${userName.toUpperCase()}"`,
      `externalId eq "${externalId}"`,
      `emails[type eq "work" and value eq "${userName}@corp.example"]`,
      `emails[type eq "work"].value eq "${userName}@corp.example"`,
      `(userName eq "${userName}")`,
    ]) {
      const { totalResults, Resources } = await read(`/Users?filter=${encodeURIComponent(filter)}`);
      expect({ filter, totalResults, ids: (Resources as { id: string }[]).map((one) => one.id) }).toEqual({
        filter,
        totalResults: 1,
        ids: [id],
      });
    }
    const upper = encodeURIComponent(`externalId eq "${externalId.toUpperCase()}"`);
    expect((await read(`/Users?filter=${upper}`))['totalResults']).toBe(/[a-f]/.test(externalId) ? 0 : 1);
  });

  it('refuses a second user of the same name', async () => {
    const { userName } = await make();
    const other = sent(randomUUID(), userName.toUpperCase());
    const { body } = await directory.send('POST', '/Users', other).expect(409);
    expect(body).toEqual({
      schemas: [ERROR],
      status: '409',
      scimType: 'uniqueness',
      detail: 'userName is already in use',
    });
  });

  it('answers 404 for an unknown user', async () => {
    const { body } = await directory.send('GET', `/Users/${randomUUID().replaceAll('-', '')}`).expect(404);
    expect(body).toEqual({ schemas: [ERROR], status: '404', detail: 'there is no such resource' });
  });

  it.each<[string, object[], object]>([
    [
      'several attributes, with operations in capitals',
      [
        { op: 'Replace', path: 'emails[type eq "work"].value', value: 'updated@corp.example' },
        { op: 'Replace', path: 'name.familyName', value: 'updatedFamilyName' },
      ],
      {
        emails: [{ primary: true, type: 'work', value: 'updated@corp.example' }],
        name: { familyName: 'updatedFamilyName', givenName: 'givenName' },
      },
    ],
    ['a user who is disabled', [{ op: 'Replace', path: 'active', value: false }], { active: false }],
    ['the older form of it', [{ op: 'Replace', path: 'active', value: 'False' }], { active: false }],
    [
      'several attributes without a path, with dotted keys',
      [
        {
          op: 'replace',
          value: {
            displayName: 'Bjfe',
            'name.givenName': 'Kjhgfd',
            [`${USER}:name.familyName`]: 'Poiuyt',
            'emails[type eq "work"].value': 'a@corp.example',
            [`${ENTERPRISE}:department`]: 'R&D',
            active: 'True',
          },
        },
      ],
      {
        displayName: 'Bjfe',
        name: { givenName: 'Kjhgfd', familyName: 'Poiuyt' },
        emails: [{ type: 'work', value: 'a@corp.example', primary: true }],
        active: true,
      },
    ],
    [
      'an address of a type that the user has not yet',
      [{ op: 'Add', path: 'emails[type eq "other"].value', value: 'other@corp.example' }],
      { emails: [{ type: 'work' }, { type: 'other', value: 'other@corp.example' }] },
    ],
    [
      'attributes of an extension that is not kept',
      [{ op: 'Add', path: `${ENTERPRISE}:manager`, value: [{ $ref: 'http://x/Users/1', value: '1' }] }],
      { active: true },
    ],
    [
      'a role (SingleAppRoleAssignment)',
      [{ op: 'Add', path: 'roles[primary eq "True"].value', value: 'Admin' }],
      { roles: [{ primary: true, value: 'Admin' }] },
    ],
    [
      'roles as JSON in a text (AppRoleAssignmentsComplex)',
      [
        {
          op: 'Add',
          path: 'roles',
          value: [{ value: '{"id":"06b07648","value":"Editor","displayName":"Editor"}' }],
        },
      ],
      { roles: [{ value: 'Editor' }] },
    ],
    [
      'a value of one attribute in a list',
      [{ op: 'Replace', path: 'displayName', value: [{ $ref: null, value: 'Ada' }] }],
      { displayName: 'Ada' },
    ],
  ])('updates %s', async (_, operations, expected) => {
    const { id } = await make();
    const { body } = await directory.patch(`/Users/${id}`, ...operations).expect(200);
    expect(body).toMatchObject(expected);
    expect(await read(`/Users/${id}`)).toEqual(body);
    const again = await directory.patch(`/Users/${id}`, ...operations).expect(200);
    expect(again.body).toEqual(body); // also `meta.lastModified`
  });

  it('renames a user', async () => {
    const { id } = await make();
    const userName = `renamed-${randomUUID()}`;
    const { body } = await directory.patch(`/Users/${id}`, {
      op: 'Replace',
      path: 'userName',
      value: userName,
    });
    expect(body).toMatchObject({ id, userName });
  });

  it('deletes a user', async () => {
    const { id, userName, externalId } = await make();
    await directory.send('DELETE', `/Users/${id}`).expect(204, '');
    await directory.send('GET', `/Users/${id}`).expect(404);
    await directory.send('DELETE', `/Users/${id}`).expect(404);
    await directory.send('POST', '/Users', sent(externalId, userName)).expect(201);
  });

  describe('groups', () => {
    const group = async (displayName = `group-${randomUUID()}`): Promise<string> =>
      directory.create('/Groups', {
        schemas: [GROUP, ENTRA_GROUP],
        externalId: randomUUID(),
        displayName,
        meta: { resourceType: 'Group' },
      });
    const membersOf = async (id: string): Promise<string[]> =>
      ((await read(`/Groups/${id}`))['members'] as { value: string }[] | undefined)?.map(
        ({ value }) => value,
      ) ?? [];

    it('creates a group with the schema of Entra', async () => {
      const displayName = `display ${randomUUID()}`;
      const id = await group(displayName);
      const { meta: _, ...body } = await read(`/Groups/${id}?excludedAttributes=members`);
      expect(body).toEqual({ schemas: [GROUP], id, displayName, externalId: expect.any(String) as string });
    });

    it('finds a group by displayName without its members', async () => {
      const displayName = `Group ${randomUUID()}`;
      const id = await group(displayName);
      const { id: member } = await make();
      await directory.patch(`/Groups/${id}`, { op: 'Add', path: 'members', value: [{ value: member }] });
      const filter = encodeURIComponent(`displayName eq "${displayName}"`);
      const { Resources } = await read(`/Groups?excludedAttributes=members&filter=${filter}`);
      expect(Resources).toEqual([expect.not.objectContaining({ members: expect.anything() as unknown })]);
      expect((Resources as { id: string }[])[0]!.id).toBe(id);
    });

    it('adds, checks and removes members; a PATCH answers 204 without a body', async () => {
      const id = await group();
      const [one, two, three] = await Promise.all([make(), make(), make()]);
      const add = { op: 'Add', path: 'members', value: [{ $ref: null, value: one.id }] };
      await directory.patch(`/Groups/${id}`, add).expect(204, '');
      await directory
        .patch(`/Groups/${id}`, { ...add, value: [{ $ref: null, value: two.id }, { value: three.id }] })
        .expect(204);
      expect((await membersOf(id)).toSorted()).toEqual([one.id, two.id, three.id].toSorted());

      const filter = encodeURIComponent(`id eq "${id}" and members[value eq "${one.id}"]`);
      expect((await read(`/Groups?attributes=id&filter=${filter}`))['Resources']).toEqual([
        { schemas: [GROUP], id },
      ]);

      // With a list of values: the others stay.
      const remove = { op: 'Remove', path: 'members', value: [{ $ref: null, value: one.id }] };
      await directory.patch(`/Groups/${id}`, remove).expect(204);
      await directory.patch(`/Groups/${id}`, remove).expect(204);
      expect((await membersOf(id)).toSorted()).toEqual([two.id, three.id].toSorted());
      await directory
        .patch(`/Groups/${id}`, { op: 'Remove', path: `members[value eq "${two.id}"]` })
        .expect(204);
      expect(await membersOf(id)).toEqual([three.id]);
      await directory.patch(`/Groups/${id}`, { op: 'Remove', path: 'members', value: [] }).expect(204);
      expect(await membersOf(id)).toEqual([three.id]);
      await directory.patch(`/Groups/${id}`, { op: 'Remove', path: 'members' }).expect(204);
      expect(await membersOf(id)).toEqual([]);
    });

    it('takes a thousand operations on members in one request', async () => {
      const id = await group();
      const { id: member } = await make();
      const one = { op: 'Add', path: 'members', value: [{ value: member }] };
      await directory.patch(`/Groups/${id}`, ...Array.from({ length: 1000 }, () => one)).expect(204);
      expect(await membersOf(id)).toEqual([member]);
      const { body } = await directory.patch(`/Groups/${id}`, ...Array.from({ length: 1001 }, () => one));
      expect(body).toMatchObject({ status: '400', scimType: 'tooMany' });
    });

    it('renames and deletes a group', async () => {
      const id = await group();
      const displayName = `renamed ${randomUUID()}`;
      await directory
        .patch(`/Groups/${id}`, { op: 'Replace', path: 'displayName', value: displayName })
        .expect(204);
      expect((await read(`/Groups/${id}`))['displayName']).toBe(displayName);
      await directory.send('DELETE', `/Groups/${id}`).expect(204, '');
      await directory.send('GET', `/Groups/${id}`).expect(404);
    });
  });

  it('reads the schemas', async () => {
    const { Resources } = await read('/Schemas');
    expect((Resources as { id: string }[]).map(({ id }) => id)).toEqual([USER, GROUP]);
    expect(await read(`/Schemas/${USER}`)).toMatchObject({ id: USER, name: 'User' });
    const { attributes } = await read(`/Schemas/${GROUP}`);
    const members = (attributes as { name: string }[]).find(({ name }) => name === 'members');
    const address = { name: '$ref', type: 'reference', caseExact: true, uniqueness: 'none' }; // RFC 7643 §7
    expect(members).toMatchObject({ subAttributes: [{ name: 'value' }, address] });
    await directory.send('GET', `/Schemas/${ENTERPRISE}`).expect(404);
  });
});

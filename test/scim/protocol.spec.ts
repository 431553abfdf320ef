import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import request from 'supertest';
import { parseSettings } from '../../src/settings.js';
import { DIRECTORY_ENV, DirectoryClient } from '../support/directory.js';
import { query } from '../support/database.js';
import { Endings } from '../support/endings.js';
import { startTestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';

const OLD = 'the-old-token-of-the-other-directory-still-valid';
const NEW = 'the-new-token-of-the-other-directory-from-now-on';

/** Returns JSON as encoders write it that know ASCII only. */
function asciiOf(json: string): string {
  return json.replace(/[^ -~]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** What the interface refuses (docs/directory.md#what-is-understood). */
describe('SCIM', () => {
  const endings = new Endings();
  afterAll(() => endings.run());

  const service = use(async () => {
    const provider = endings.after(await StubProvider.start(), (one) => one.close());
    const env = {
      ...provider.env(),
      ...provider.env('OTHER'),
      ...provider.env('PLAIN'),
      ...DIRECTORY_ENV,
      PROVIDERS_OTHER_SCIM_TOKEN: `${OLD}, ${NEW}`,
    };
    return startTestService(env);
  });
  const directory = new DirectoryClient(service);

  const user = (): { userName: string; externalId: string } => ({
    userName: `user-${randomUUID()}`,
    externalId: randomUUID(),
  });
  const other = (token = NEW, provider = 'other'): DirectoryClient =>
    new DirectoryClient(service, provider, token);

  describe('the token', () => {
    it('may be one of two', async () => {
      for (const token of [OLD, NEW]) await other(token).send('GET', '/Users').expect(200);
    });

    it('has one answer if it is wrong, of another provider, absent, or for no directory', async () => {
      const calls = [
        other('wrong'.repeat(8)).send('GET', '/Users'),
        other(NEW, 'stub').send('GET', '/Users'),
        other(NEW, 'plain').send('GET', '/Users'),
        other(NEW, 'unknown').send('GET', '/Users'),
        other(NEW, 'constructor').send('GET', `/Users/${randomUUID()}`),
        other('wrong'.repeat(8)).send('POST', '/Users', {}),
        other('wrong'.repeat(8)).send('GET', '/nothing'),
        request(service.url).get('/scim/v2/other/Users'),
        request(service.url).get('/scim/v2/other/Users').auth('other', NEW),
      ];
      for (const call of calls) {
        const { status, body, headers } = await call;
        expect([status, body, headers['www-authenticate']]).toEqual([
          401,
          {
            schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
            status: '401',
            detail: 'the token is not that of the directory',
          },
          'Bearer error="invalid_token"',
        ]);
      }
    });

    it('is limited: of many wrong ones, the later are not compared', async () => {
      const env = {
        ...(await StubProvider.start().then(async (one) => (await one.close(), one.env()))),
        ...DIRECTORY_ENV,
        DATABASE_URL: service.databaseUrl,
        RATE_LIMIT: 'on',
        RATE_LIMIT_BAD_TOKEN: '5',
        TRUST_PROXY: 'false',
      };
      const limited = await startTestService(env);
      try {
        const wrong = new DirectoryClient(limited, 'stub', 'wrong'.repeat(8));
        const statuses = [];
        for (let i = 0; i < 7; i++) statuses.push((await wrong.send('GET', '/Users')).status);
        expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
        await new DirectoryClient(limited).send('GET', '/Users').expect(200);
      } finally {
        await limited.close();
      }
    });

    it.each([
      [{ PROVIDERS_STUB_SCIM_TOKEN: 'short' }, /SCIM_TOKEN is invalid/],
      [{ PROVIDERS_STUB_SCIM_TOKEN: `${OLD},${NEW},${OLD}x` }, /SCIM_TOKEN is invalid/],
      [{ PROVIDERS_STUB_SCIM_TOKEN: NEW }, /is also the token of/],
      [{ PROVIDERS_STUB_ALLOW: 'directory' }, /is about a directory that is off/],
      [{ PROVIDERS_STUB_SCIM_ATTRIBUTE: 'id' }, /SCIM_ATTRIBUTE is invalid/],
    ])('%j prevents the start', (env, message) => {
      const provider = (name: string) => ({
        [`PROVIDERS_${name}_URL`]: 'http://127.0.0.1:1',
        [`PROVIDERS_${name}_CLIENT_ID`]: 'a',
        [`PROVIDERS_${name}_CLIENT_SECRET`]: 'a client secret of the stub',
      });
      const all = { ...provider('STUB'), ...provider('OTHER'), PROVIDERS_OTHER_SCIM_TOKEN: NEW, ...env };
      expect(() => parseSettings(all)).toThrow(message);
    });
  });

  it.each(['/Users/', '//Users', '/Users//', '/ServiceProviderConfig/', '//Schemas//'])(
    'an address with a slash too many: GET %s',
    async (path) => {
      await directory.send('GET', `${path}?count=1`).expect(200);
      const { userName } = user();
      const filter = encodeURIComponent(`userName eq "${userName}//"`);
      const found = await directory.send('GET', `//Users/?filter=${filter}`).expect(200);
      expect(found.body).toMatchObject({ totalResults: 0 });
    },
  );

  it('each method takes an address with a slash too many', async () => {
    const { body } = await directory.send('POST', '//Users/', user()).expect(201);
    const { id } = body as { id: string };
    await directory.patch(`//Users/${id}/`, { op: 'replace', value: { active: false } }).expect(200);
    expect((await directory.send('GET', `///Users//${id}`)).body).toMatchObject({ id, active: false });
    await directory.send('DELETE', `/Users//${id}`).expect(204);
    await request(service.url).get('/scim/v2/stub//Users/').expect(401);
  });

  it('a slash too many stays in other addresses, and in long ones', async () => {
    await request(service.url).get('//health/live').expect(404);
    await directory.send('GET', `${'/'.repeat(2048)}Users`).expect(404);
  });

  it('ids of another provider are unknown', async () => {
    const id = await directory.create('/Users', user());
    const group = await directory.create('/Groups', { displayName: 'g', members: [{ value: id }] });
    await other().send('GET', `/Users/${id}`).expect(404);
    await other()
      .patch(`/Users/${id}`, { op: 'replace', value: { active: false } })
      .expect(404);
    await other().send('DELETE', `/Groups/${group}`).expect(404);
    const foreign = await other().send('POST', '/Groups', { displayName: 'g', members: [{ value: id }] });
    expect(foreign.body).toMatchObject({ status: '400', scimType: 'invalidValue' });
    expect((await other().send('GET', '/Groups').expect(200)).body).toMatchObject({ totalResults: 0 });
  });

  it('a userName is unique without case, an externalId with case', async () => {
    const one = { userName: `Ada-${randomUUID()}`, externalId: `a-${randomUUID()}` };
    await directory.create('/Users', one);
    await directory.create('/Users', { ...user(), externalId: one.externalId.toUpperCase() });
    for (const same of [
      { ...user(), userName: one.userName.toUpperCase() },
      { ...user(), externalId: one.externalId },
    ]) {
      expect((await directory.send('POST', '/Users', same)).body).toMatchObject({ status: '409' });
      const id = await directory.create('/Users', user());
      const put = await directory.send('PUT', `/Users/${id}`, same);
      expect(put.body).toMatchObject({ status: '409', scimType: 'uniqueness' });
    }
  });

  it('an externalId is unique among groups, also after a change', async () => {
    const externalId = randomUUID();
    await directory.create('/Groups', { displayName: 'one', externalId });
    const id = await directory.create('/Groups', { displayName: 'other', externalId: randomUUID() });
    const change = { op: 'replace', path: 'externalId', value: externalId };
    const { body } = await directory.patch(`/Groups/${id}`, change).expect(409);
    expect(body).toMatchObject({ scimType: 'uniqueness', detail: 'externalId is already in use' });
  });

  describe('filters', () => {
    const find = async (filter: string, kind = 'Users'): Promise<Record<string, unknown>> =>
      (await directory.send('GET', `/${kind}?filter=${encodeURIComponent(filter)}`)).body as Record<
        string,
        unknown
      >;

    it.each([
      'userName',
      'userName eq',
      'userName eq "a',
      'userName eq a',
      'userName zz "a"',
      '(userName eq "a"',
      'nickName eq "a"',
      'password eq "a"',
      'members eq "a"',
      'emails[nickName eq "a"]',
      'emails[value co "a"]',
      'emails[value eq "a" and value eq "b"]',
      'userName eq 5',
      'active eq "perhaps"',
      `${'('.repeat(65)}userName eq "a"${')'.repeat(65)}`,
      `${'not '.repeat(2000)}(userName eq "a")`,
      `userName eq "${'a'.repeat(10_240)}"`,
      'userName eq "a\0"',
      '__proto__ eq "a"',
      'constructor eq "a"',
    ])('%#: %s is refused', async (filter) => {
      expect(await find(filter)).toMatchObject({ status: '400', scimType: 'invalidFilter' });
    });

    it.each([
      `${'('.repeat(50)}userName eq "nobody"${')'.repeat(50)}`,
      Array.from({ length: 400 }, () => 'userName eq "nobody"').join(' or '),
      'id eq "no uuid"',
      'emails[type eq "work" and value eq "nobody@corp.example"]',
      'active eq "True" and userName eq "nobody"',
      `userName eq "'; DROP TABLE users; --"`,
    ])('%#: %s finds nobody', async (filter) => {
      expect(await find(filter)).toMatchObject({ totalResults: 0, Resources: [] });
    });

    // RFC 7644 §3.4.2.2: texts are JSON. `"CORP\\ada"` is what clients send that escape nothing.
    it.each([
      ['a backslash', 'CORP\\ada', JSON.stringify],
      ['backslashes before letters of escapes', 'a\\nora\\\\u0041', JSON.stringify],
      ['a backslash at the end', 'ada\\', JSON.stringify],
      ['a quotation mark', 'o"b\\rien', JSON.stringify],
      ['escaped letters', 'jörg🦊', (name: string) => asciiOf(JSON.stringify(name))],
      ['an escaped slash', 'a/b', (name: string) => JSON.stringify(name).replaceAll('/', '\\/')],
      ['brackets and words', 'x[1]) or not (id pr', JSON.stringify],
      ['a backslash that is not escaped', 'CORP\\ada', (name: string) => `"${name}"`],
    ])('%s', async (_, part, write) => {
      const name = `${part}-${randomUUID()}-${part}`;
      const displayName = `Display ${name}`;
      const emails = [{ value: name, type: name }];
      const id = await directory.create('/Users', { userName: name, externalId: name, displayName, emails });
      await directory.create('/Groups', { displayName, externalId: name });
      const text = write(name);
      for (const filter of [
        `userName eq ${text}`,
        `externalId eq ${text} and userName sw ${write(part)}`,
        `displayName ew ${text} or externalId eq "${'x'.repeat(9)}"`,
        `emails[type eq ${text} and value eq ${text}]`,
        `emails[type eq ${text}].value eq ${text}`,
      ]) {
        expect([filter, await find(filter)]).toMatchObject([
          filter,
          { totalResults: 1, Resources: [{ id }] },
        ]);
      }
      for (const filter of [`displayName co ${text}`, `externalId eq ${text}`]) {
        expect(await find(filter, 'Groups')).toMatchObject({ totalResults: 1 });
      }
      const path = `emails[type eq ${text}].display`;
      const { body } = await directory.patch(`/Users/${id}`, { op: 'replace', path, value: 'D' }).expect(200);
      expect(body).toMatchObject({ emails: [{ ...emails[0], display: 'D' }] });
    });

    it.each(['"a\\u0000"', '"\\ud800"', '"a', '"a\\"'])('the text %s is refused', async (text) => {
      for (const filter of [`userName eq ${text}`, `emails[value eq ${text}]`])
        expect(await find(filter)).toMatchObject({ status: '400', scimType: 'invalidFilter' });
    });

    it('a text without an end, with line breaks, costs no time', async () => {
      const began = performance.now();
      expect(await find(`userName eq "${'\n'.repeat(5000)}`)).toMatchObject({ scimType: 'invalidFilter' });
      expect(performance.now() - began).toBeLessThan(60_000); // exponential: never
    });

    it.each<[string, (name: string) => string]>([
      ['eq', (name) => `userName eq "${name}"`],
      ['a name in another case', (name) => `USERNAME EQ "${name.toUpperCase()}"`],
      [
        'a name with its schema',
        (name) => `urn:ietf:params:scim:schemas:core:2.0:User:userName eq "${name}"`,
      ],
      ['sw and ew', (name) => `userName sw "${name.slice(0, 30)}" and userName ew "${name.slice(20)}"`],
      ['co', (name) => `userName co "${name.slice(3)}"`],
      ['not', (name) => `not (userName ne "${name}")`],
      ['or', (name) => `userName eq "x" or displayName eq "display of ${name}"`],
      ['pr', (name) => `displayName pr and userName eq "${name}"`],
      ['null', (name) => `externalId ne null and not (displayName eq null) and userName eq "${name}"`],
      ['active', (name) => `userName eq "${name}" and active eq true`],
      ['gt', (name) => `userName ge "${name}" and userName le "${name}"`],
      ['a list', (name) => `emails eq "${name}@corp.example"`],
      ['its value', (name) => `emails.value eq "${name}@CORP.example"`],
      ['its type', (name) => `emails[type eq "home"] and userName eq "${name}"`],
    ])('%s', async (_, filterOf) => {
      const { userName, externalId } = user();
      const emails = [{ value: `${userName}@corp.example`, type: 'home' }];
      const displayName = `Display of ${userName}`;
      await directory.create('/Users', { userName, externalId, displayName, emails });
      expect(await find(filterOf(userName))).toMatchObject({ totalResults: 1, Resources: [{ userName }] });
    });
  });

  it.each([
    ['startIndex=a', 400],
    ['count=1.5', 400],
    ['count=-5', 200],
    ['count=5000', 200],
    ['startIndex=-1&count=0', 200],
    ['startIndex=99999999', 200],
    ['count=1&count=2', 400],
    ['attributes=id&excludedAttributes=id', 400],
    ['attributes=nothing', 200],
  ])('a list with %s: %i', async (parameters, status) => {
    const { body } = await directory.send('GET', `/Users?${parameters}`).expect(status);
    if (status === 200) expect((body as { Resources: unknown[] }).Resources.length).toBeLessThanOrEqual(1000);
  });

  it('attributes and excludedAttributes, with parts of an attribute', async () => {
    const name = { givenName: 'Ada', familyName: 'Lovelace' };
    const id = await directory.create('/Users', { ...user(), name });
    const read = async (parameters: string): Promise<object> =>
      (await directory.send('GET', `/Users/${id}?${parameters}`).expect(200)).body as object;
    const schemas = ['urn:ietf:params:scim:schemas:core:2.0:User'];
    expect(await read('attributes=name.givenName')).toEqual({ schemas, id, name: { givenName: 'Ada' } });
    const others = await read('excludedAttributes=name.givenName,userName');
    expect(others).toMatchObject({ id, name: { familyName: 'Lovelace' }, active: true });
    expect(others).not.toHaveProperty('userName');
    expect(others).not.toHaveProperty('name.givenName');
  });

  describe('bodies', () => {
    const post = (path: string, body: string, type = 'application/scim+json') =>
      directory.send('POST', path).set('Content-Type', type).send(body);

    it.each<[string, string, number, string | undefined]>([
      ['broken JSON', '{"userName": ', 400, 'invalidSyntax'],
      ['a list', '[]', 400, 'invalidSyntax'],
      ['nothing', '', 400, 'invalidSyntax'],
      ['deep JSON', `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`, 400, 'invalidSyntax'],
      ['2 MiB', JSON.stringify({ userName: 'x'.repeat(2 * 1024 * 1024) }), 413, undefined],
      ['no userName', '{}', 400, 'invalidValue'],
      ['a userName of another type', '{"userName": {}}', 400, 'invalidValue'],
      ['a long userName', JSON.stringify({ userName: 'x'.repeat(2000) }), 400, 'invalidValue'],
      ['a NUL', JSON.stringify({ userName: 'a\0' }), 400, 'invalidValue'],
      ['a lone surrogate', '{"userName": "\\ud800"}', 400, 'invalidValue'],
      ['active as a word', '{"userName": "x", "active": "perhaps"}', 400, 'invalidValue'],
      ['many roles', JSON.stringify({ userName: 'x', roles: Array(201).fill('r') }), 400, 'invalidValue'],
    ])('%s is refused', async (_, body, status, scimType) => {
      const before = await query(service.databaseUrl, 'SELECT count(*) FROM directory_users');
      const answer = await post('/Users', body);
      expect([answer.status, (answer.body as { scimType?: string }).scimType]).toEqual([status, scimType]);
      expect(await query(service.databaseUrl, 'SELECT count(*) FROM directory_users')).toEqual(before);
    });

    it('may be application/json, and compressed', async () => {
      await post('/Users', JSON.stringify(user()), 'application/json').expect(201);
      const headers = {
        Authorization: `Bearer ${DIRECTORY_ENV.PROVIDERS_STUB_SCIM_TOKEN}`,
        'Content-Type': 'application/scim+json',
        'Content-Encoding': 'gzip',
      };
      const body = gzipSync(JSON.stringify(user()));
      const answer = await fetch(`${service.url}/scim/v2/stub/Users`, { method: 'POST', headers, body });
      expect(answer.status).toBe(201);
      await post('/Users', 'userName=a', 'application/x-www-form-urlencoded').expect(400);
    });

    it('parts of a name may be sent as members with a dot', async () => {
      const parts = { 'name.givenName': 'Ada', 'name.familyName': 'Lovelace' };
      const { body } = await post('/Users', JSON.stringify({ ...user(), ...parts })).expect(201);
      expect(body).toMatchObject({ name: { givenName: 'Ada', familyName: 'Lovelace' } });
    });

    it('unknown attributes are ignored, whatever their names', async () => {
      const text = `{"__proto__": {"active": false}, "constructor": 1, "nickName": "x", ${JSON.stringify(user()).slice(1)}`;
      const { body } = await post('/Users', text).expect(201);
      expect(Object.keys(body as object).toSorted()).toEqual([
        'active',
        'externalId',
        'id',
        'meta',
        'schemas',
        'userName',
      ]);
    });

    it('a group takes more, and no more than 50,000 members', async () => {
      const members = Array.from({ length: 50_001 }, () => ({ value: randomUUID() }));
      const { body } = await post('/Groups', JSON.stringify({ displayName: 'x', members })); // 2.4 MiB
      expect(body).toMatchObject({ status: '400', detail: 'a group must not have more than 50000 members' });
    });
  });

  it.each<[string, object, string]>([
    ['an unknown operation', { op: 'move', path: 'active', value: true }, 'invalidSyntax'],
    ['a path that is no text', { op: 'replace', path: 5, value: true }, 'invalidPath'],
    [
      'a filter without an end',
      { op: 'replace', path: 'emails[type eq "work".value', value: 'a' },
      'invalidPath',
    ],
    ['a broken filter', { op: 'replace', path: 'emails[type].value', value: 'a' }, 'invalidFilter'],
    ['remove without a path', { op: 'remove' }, 'noTarget'],
    ['no value', { op: 'replace', path: 'displayName' }, 'invalidValue'],
    ['a text without a path', { op: 'replace', value: 'a' }, 'invalidValue'],
    ['the removal of userName', { op: 'remove', path: 'userName' }, 'invalidValue'],
    [
      'a filter that matches nothing',
      { op: 'replace', path: 'emails[value eq "x"]', value: { type: 'a' } },
      'noTarget',
    ],
  ])('PATCH with %s is refused, and changes nothing', async (_, operation, scimType) => {
    const emails = [{ value: 'a@corp.example', type: 'work' }];
    const id = await directory.create('/Users', { ...user(), emails });
    const { body: before } = await directory.send('GET', `/Users/${id}`);
    const good = { op: 'replace', path: 'displayName', value: 'changed' };
    const { status, body } = await directory.patch(`/Users/${id}`, good, operation);
    expect([status, (body as { scimType: string }).scimType]).toEqual([400, scimType]);
    expect((await directory.send('GET', `/Users/${id}`)).body).toEqual(before);
  });

  it('PATCH of an id is ignored', async () => {
    const id = await directory.create('/Users', user());
    const value = { id: randomUUID(), displayName: 'changed' };
    const { body } = await directory.patch(`/Users/${id}`, { op: 'replace', value }).expect(200);
    expect(body).toMatchObject({ id, displayName: 'changed' });
  });

  it('PATCH without an operation is refused', async () => {
    const { body } = await directory.patch(`/Users/${await directory.create('/Users', user())}`).expect(400);
    expect(body).toMatchObject({ scimType: 'invalidSyntax' });
  });

  it.each(['__proto__.polluted', 'constructor.prototype.polluted', 'name.__proto__.polluted'])(
    'PATCH of %s touches no object',
    async (path) => {
      const id = await directory.create('/Users', user());
      await directory.patch(`/Users/${id}`, { op: 'add', path, value: 'x' }).expect(200);
      await directory.patch(`/Users/${id}`, { op: 'add', value: { [path]: 'x' } }).expect(200);
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    },
  );

  it('concurrent changes of one group all count', async () => {
    const ids = await Promise.all(Array.from({ length: 12 }, () => directory.create('/Users', user())));
    const group = await directory.create('/Groups', { displayName: 'g', members: [{ value: ids[0] }] });
    const changes = ids.map((value, i) =>
      directory.patch(
        `/Groups/${group}`,
        i === 0
          ? { op: 'remove', path: `members[value eq "${value}"]` }
          : { op: 'add', path: 'members', value: [{ value }] },
      ),
    );
    for (const { status } of await Promise.all(changes)) expect(status).toBe(204);
    const { body } = await directory.send('GET', `/Groups/${group}`);
    const members = (body as { members: { value: string }[] }).members.map(({ value }) => value);
    expect(members.toSorted()).toEqual(ids.slice(1).toSorted());
    const count = 'SELECT member_count AS n FROM directory_groups WHERE id = $1';
    expect(await query(service.databaseUrl, count, [group])).toEqual([{ n: ids.length - 1 }]);
  });

  it('of concurrent creations of one user, one succeeds', async () => {
    const one = user();
    const all = await Promise.all(Array.from({ length: 6 }, () => directory.send('POST', '/Users', one)));
    expect(all.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409, 409, 409, 409, 409]);
  });

  it('a user who is deleted leaves the groups', async () => {
    const [id, stays] = [await directory.create('/Users', user()), await directory.create('/Users', user())];
    const members = [{ value: id }, { value: stays }];
    const group = await directory.create('/Groups', { displayName: 'g', members });
    await directory.send('DELETE', `/Users/${id}`).expect(204);
    const { body } = await directory.send('GET', `/Groups/${group}`);
    expect(body).toMatchObject({ members: [{ value: stays }] });
  });

  it('says what it can, and what a path cannot', async () => {
    const { body } = await directory.send('GET', '/ServiceProviderConfig').expect(200);
    expect(body).toMatchObject({
      patch: { supported: true },
      filter: { supported: true, maxResults: 1000 },
      ...Object.fromEntries(
        ['bulk', 'sort', 'etag', 'changePassword'].map((one) => [one, { supported: false }]),
      ),
    });
    expect((await directory.send('GET', '/Bulk').expect(404)).body).toMatchObject({ status: '404' });
    const { headers } = await directory.send('DELETE', '/Users').expect(405);
    expect(headers['allow']).toBe('GET, POST, HEAD');
  });

  it('searches by POST', async () => {
    const { userName, externalId } = user();
    const id = await directory.create('/Users', { userName, externalId });
    const search = { filter: `userName eq "${userName}"`, attributes: ['userName'], count: 5 };
    for (const path of ['/.search', '/Users/.search']) {
      const { body } = await directory.send('POST', path, search).expect(200);
      expect(body).toMatchObject({ totalResults: 1, Resources: [{ id, userName }] });
    }
    const { body } = await directory.send('POST', '/Groups/.search', search);
    expect(body).toMatchObject({ status: '400', scimType: 'invalidFilter' });
  });
});

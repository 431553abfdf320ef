import { randomUUID } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { DIRECTORY_ENV, DirectoryClient } from '../support/directory.js';
import { query } from '../support/database.js';
import { useService } from '../support/use.js';

interface List {
  readonly totalResults: number;
  readonly itemsPerPage: number;
  readonly Resources: readonly { readonly id: string }[];
}

/** A directory within its limits must not hold up the event loop (docs/directory.md#what-is-understood). */
describe('work of one request of a directory', () => {
  let id: string;

  const { service } = useService(DIRECTORY_ENV);
  const directory = new DirectoryClient(service);
  beforeAll(async () => {
    const emails = values(200, (i) => `mail-${i}@corp.example`);
    id = await directory.create('/Users', { userName: randomUUID(), roles: values(200), emails });
  });

  const values = (count: number, name = (i: number) => `value-${i}`) =>
    Array.from({ length: count }, (_, i) => ({ value: name(i) }));
  const times = <One>(count: number, one: (i: number) => One): One[] =>
    Array.from({ length: count }, (_, i) => one(i));
  const SCHEMAS = ['urn:ietf:params:scim:api:messages:2.0:PatchOp'];
  const patch = (...Operations: object[]) => ({ schemas: SCHEMAS, Operations });
  const keys = (count: number, name = (i: number) => `a${i}`) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [name(i), 1]));
  const longFilter = values(50, (i) => `value eq "x${i}"`)
    .map((one) => one.value)
    .join(' or ');
  const mail = `emails[value eq "mail-1@corp.example"].display`;

  /** Sends a text, so that the client has nothing to encode. @returns the CPU time of this process */
  async function cost(
    method: 'PATCH' | 'POST' | 'PUT',
    path: string,
    text: string,
  ): Promise<[number, number]> {
    const call = directory.send(method, path).set('Content-Type', 'application/scim+json').send(text);
    const before = process.cpuUsage();
    const { status } = await call;
    const { user, system } = process.cpuUsage(before);
    return [status, (user + system) / 1000];
  }
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const leastOf3 = async (...request: Parameters<typeof cost>): Promise<[number, number]> => {
    collectGarbage(); // the threads that mark garbage of earlier specs count as CPU time
    const costs: [number, number][] = [];
    for (let i = 0; i < 3; i++) costs.push(await cost(...request));
    return costs.toSorted(([, a], [, b]) => a - b)[0]!;
  };

  // CPU time does not depend on what else the machine does, but on its speed: the ratio to a usual change.
  it('is bounded: each costs at most as much as fifteen usual changes, and none fails', async () => {
    const user = `/Users/${id}`;
    const group = `/Groups/${await directory.create('/Groups', { displayName: 'g' })}`;
    const usual = await leastOf3('PATCH', user, JSON.stringify(patch({ op: 'add', path: mail, value: 'a' })));
    expect(usual[0]).toBe(200);
    const attacks: [string, 'PATCH' | 'POST' | 'PUT', string, object][] = [
      [
        'filters of 1 kB',
        'PATCH',
        user,
        patch(...times(200, () => ({ op: 'remove', path: `roles[${longFilter}]` }))),
      ],
      [
        'long texts without ASCII',
        'PATCH',
        user,
        patch(
          { op: 'replace', path: 'emails', value: values(200) },
          ...['display', 'type'].map((part) => ({
            op: 'replace',
            path: `emails.${part}`,
            value: 'İ'.repeat(1024),
          })),
          ...times(190, () => ({ op: 'replace', path: 'emails[value pr].primary', value: false })),
        ),
      ],
      [
        'long lists',
        'PATCH',
        user,
        patch(
          { op: 'replace', path: 'emails', value: values(200, (i) => `${'x'.repeat(200)}${i}`) },
          ...times(190, () => ({ op: 'add', path: 'emails', value: [{ value: 'x' }] })),
        ),
      ],
      ['filters', 'PATCH', user, patch(...times(200, (i) => ({ op: 'add', path: mail, value: `${i}` })))],
      [
        'texts',
        'PATCH',
        user,
        patch(...times(200, () => ({ op: 'remove', path: 'roles[value co "e-2"]', value: ['x'] }))),
      ],
      [
        'values removed',
        'PATCH',
        user,
        patch(...times(200, () => ({ op: 'remove', path: 'roles', value: values(200, (i) => `no-${i}`) }))),
      ],
      [
        'values added',
        'PATCH',
        user,
        patch(...times(90, () => ({ op: 'add', path: 'roles', value: values(200) }))),
      ],
      ['keys', 'PATCH', user, patch({ op: 'replace', value: keys(27_000) })],
      [
        'keys with filters',
        'PATCH',
        user,
        patch({ op: 'replace', value: keys(9_000, (i) => `emails[value eq "${i}"].type`) }),
      ],
      [
        'keys of many operations',
        'PATCH',
        user,
        patch(...times(190, () => ({ op: 'add', value: keys(100) }))),
      ],
      ['keys of a group', 'PATCH', group, patch({ op: 'replace', value: keys(27_000) })],
      ['keys of a user', 'POST', '/Users', { userName: 'x', ...keys(19_000) }],
      ['keys of an entry', 'PUT', user, { userName: 'x', roles: [keys(19_000)] }],
      ['members', 'POST', '/Groups', { displayName: 'x', members: values(49_000, () => id) }],
      [
        'filters of members',
        'PATCH',
        group,
        patch(...times(1000, () => ({ op: 'remove', path: `members[${longFilter}]` }))),
      ],
      ['attributes', 'POST', '/.search', { attributes: Object.keys(keys(60_000)) }],
      [
        'a filter',
        'POST',
        '/.search',
        {
          filter: times(200, () => 'not (userName co "a")')
            .join(' and ')
            .slice(0, 10_000),
        },
      ],
      ['quotation marks', 'POST', '/.search', { filter: `userName eq ${String.raw`"\"`.repeat(3000)}` }],
    ];
    const costs: Record<string, number> = {};
    for (const [name, method, path, body] of attacks) {
      const [status, spent] = await leastOf3(method, path, JSON.stringify(body));
      expect([name, status < 500]).toEqual([name, true]);
      costs[`${name}: ${status}`] = spent / usual[1];
    }
    process.stdout.write(
      `  attack: in usual changes (${usual[1].toFixed(1)} ms): ${JSON.stringify(costs, (_, one: unknown) => (typeof one === 'number' ? Math.round(one) : one))}\n`,
    );
    expect(Object.entries(costs).filter(([, ratio]) => ratio > 15)).toEqual([]);
  }, 300_000);

  it('a user does not grow beyond 64 KiB, by any request', async () => {
    const large = (list: string) => values(45, (i) => `${list}-${i}-${'x'.repeat(1000)}`);
    const body = { userName: randomUUID(), roles: large('role') };
    const one = await directory.create('/Users', body);
    const before = (await directory.send('GET', `/Users/${one}`)).body as object;
    const emails = large('mail');
    for (const answer of [
      await directory.patch(`/Users/${one}`, { op: 'add', path: 'emails', value: emails }),
      await directory.patch(`/Users/${one}`, { op: 'add', value: { emails } }),
      await directory.send('PUT', `/Users/${one}`, { ...body, emails }),
      await directory.send('POST', '/Users', { ...body, userName: randomUUID(), emails }),
    ]) {
      expect([answer.status, answer.body]).toMatchObject([400, { scimType: 'invalidValue' }]);
    }
    expect((await directory.send('GET', `/Users/${one}`)).body).toEqual(before);
  });

  describe('pages', () => {
    const LARGE = 120; // of 40 KiB: more than two pages
    beforeAll(async () => {
      await query(
        service.databaseUrl,
        `INSERT INTO directory_users (id, provider, user_name, user_name_key, email_keys, active, resource)
         SELECT gen_random_uuid(), 'stub', name, name, '{}', true,
           jsonb_build_object('userName', name, 'active', true, 'roles', (
             SELECT jsonb_agg(jsonb_build_object('value', i || repeat('x', 1000))) FROM generate_series(1, 40) i))
         FROM (SELECT 'large-' || i AS name FROM generate_series(1, $1) i) AS n`,
        [LARGE],
      );
      for (let i = 0; i < 3; i++) await directory.create('/Groups', { displayName: 'after the users' });
    });

    it.each([
      [
        'GET of users',
        'Users',
        (startIndex: number) => directory.send('GET', `/Users?count=1000&startIndex=${startIndex}`),
      ],
      [
        'a search of users',
        'Users',
        (startIndex: number) => directory.send('POST', '/Users/.search', { count: 1000, startIndex }),
      ],
      [
        'a search of all',
        'all',
        (startIndex: number) => directory.send('POST', '/.search', { count: 1000, startIndex }),
      ],
    ])('%s are bounded by their size, and give each resource once', async (_, kind, read) => {
      const ids: string[] = [];
      let [pages, total] = [0, 1];
      for (let at = 1; at <= total; pages++) {
        const { text, body } = await read(at).expect(200);
        const { totalResults, itemsPerPage, Resources } = body as List;
        expect(Buffer.byteLength(text)).toBeLessThan(2.5 * 1024 * 1024);
        expect(Resources.length).toBe(itemsPerPage);
        expect(itemsPerPage).toBeGreaterThan(0);
        ids.push(...Resources.map((one) => one.id));
        total = totalResults;
        at += itemsPerPage;
      }
      expect(pages).toBeGreaterThan(2);
      expect(new Set(ids).size).toBe(total);
      expect(ids.length).toBe(total);
      const [counted] = await query<{ n: number }>(
        service.databaseUrl,
        `SELECT (SELECT count(*) FROM directory_users)::int
           + CASE WHEN $1 THEN (SELECT count(*) FROM directory_groups)::int ELSE 0 END AS n`,
        [kind === 'all'],
      );
      expect(total).toBe(counted!.n);
    });

    it('usual users are not cut: a page has what was asked for', async () => {
      const { body } = await directory.send('GET', '/Users?count=20').expect(200);
      expect((body as List).itemsPerPage).toBe(20);
    });
  });

  it('a group of 50,000 is created, read and replaced twice; its answer is complete', async () => {
    await query(
      service.databaseUrl,
      `INSERT INTO directory_users (id, provider, user_name, user_name_key, email_keys, active, resource)
       SELECT gen_random_uuid(), 'stub', name, name, '{}', true, jsonb_build_object('userName', name, 'active', true)
       FROM (SELECT 'member-' || i AS name FROM generate_series(1, 50000) i) AS n`,
    );
    const sql = `SELECT id FROM directory_users WHERE user_name LIKE 'member-%' ORDER BY id`;
    const ids = (await query<{ id: string }>(service.databaseUrl, sql)).map((one) => one.id);
    const members = ids.map((value) => ({ value }));
    const group = await directory.create('/Groups', { displayName: 'all', members });
    for (let i = 0; i < 2; i++)
      await directory.send('PUT', `/Groups/${group}`, { displayName: 'all', members }).expect(200);
    const { body } = await directory.send('GET', `/Groups/${group}`).expect(200);
    expect((body as { members: { value: string }[] }).members.map(({ value }) => value)).toEqual(ids);
    const removal = { displayName: 'all', members: members.slice(1) };
    await directory.send('PUT', `/Groups/${group}?excludedAttributes=members`, removal).expect(200);
    const foreign = { op: 'add', path: 'members', value: [...members.slice(0, 5), { value: randomUUID() }] };
    await directory.patch(`/Groups/${group}`, foreign).expect(400);
    const count = await query(
      service.databaseUrl,
      'SELECT FROM directory_members WHERE group_id = $1 AND NOT removed',
      [group],
    );
    expect(count.length).toBe(49_999);
  }, 300_000);
});

import { randomUUID } from 'node:crypto';
import { deriveUserId } from '../../src/identity/user-id.js';
import { DIRECTORY_ENV, DirectoryClient } from '../support/directory.js';
import { query } from '../support/database.js';
import { signIn } from '../support/sign-in.js';
import { until } from '../support/waiting.js';
import { useService } from '../support/use.js';

/** Users of a transaction: a sign-in waits for the one that has locked its user. */
const SLICE = 400;
/** More than one slice. */
const PEOPLE = 2500;

/** A change of more users than one transaction changes (docs/directory.md#groups-and-roles). */
describe('a large group', () => {
  let ids: string[];

  const { service } = useService(DIRECTORY_ENV);
  const directory = new DirectoryClient(service);
  beforeAll(async () => {
    const names = Array.from({ length: PEOPLE }, (_, i) => `person-${i}`);
    ids = names.map(() => randomUUID());
    await sql(
      `INSERT INTO directory_users (id, provider, user_name, user_name_key, external_id, email_keys, active, resource)
       SELECT id, 'stub', name, name, name, '{}', true, jsonb_build_object('userName', name, 'externalId', name, 'active', true)
       FROM unnest($1::uuid[], $2::text[]) AS n (id, name)`,
      ids,
      names,
    );
    await sql(
      `INSERT INTO users (user_id, provider, provider_user_id) SELECT *, 'stub', name FROM unnest($1::uuid[], $2::text[]) AS n (id, name)`.replace(
        '*,',
        'id,',
      ),
      names.map((name) => deriveUserId('stub', name)),
      names,
    );
  });

  const sql = (text: string, ...values: unknown[]): Promise<Record<string, unknown>[]> =>
    query(service.databaseUrl, text, values);
  const withGroup = async (name: string): Promise<number> => {
    const [row] = await sql(
      `SELECT count(*)::int AS n FROM users WHERE claims -> 'groups' @> to_jsonb($1::text)`,
      name,
    );
    return row!['n'] as number;
  };
  const noTask = () => until(async () => (await sql('SELECT FROM directory_tasks')).length === 0);

  it('is created, renamed, and deleted, for all its users', async () => {
    const group = await directory.create('/Groups', {
      displayName: 'all',
      members: ids.map((value) => ({ value })),
    });
    await noTask();
    expect(await withGroup('all')).toBe(PEOPLE);
    const began = performance.now();
    await directory
      .patch(`/Groups/${group}`, { op: 'replace', value: { displayName: 'everyone' } })
      .expect(204);
    const answered = performance.now();
    await noTask();
    const took = performance.now() - answered;
    expect([await withGroup('all'), await withGroup('everyone')]).toEqual([0, PEOPLE]);
    const events = await sql(
      `SELECT count(*)::int AS n FROM channel_events WHERE event = 'claims.changed' AND data LIKE '%everyone%'`,
    );
    expect(events).toEqual([{ n: PEOPLE }]);
    if (process.env['SCIM_FIGURES']) console.log({ answer: answered - began, users: (PEOPLE / took) * 1000 });
    const slices = await sql(
      `SELECT count(*)::int AS n FROM channel_events WHERE data LIKE '%everyone%' GROUP BY xmin::text`,
    );
    expect(Math.max(...slices.map(({ n }) => n as number))).toBe(SLICE);

    // Half of them go by PUT.
    const rest = ids.slice(0, 900).map((value) => ({ value }));
    await directory.send('PUT', `/Groups/${group}`, { displayName: 'everyone', members: rest }).expect(200);
    await noTask();
    expect(await withGroup('everyone')).toBe(900);
    expect(await sql('SELECT FROM directory_members WHERE removed')).toEqual([]);
    const all = ids.map((value) => ({ value }));
    await directory.send('PUT', `/Groups/${group}`, { displayName: 'everyone', members: all }).expect(200);
    await noTask();
    expect(await withGroup('everyone')).toBe(PEOPLE);

    await directory.send('DELETE', `/Groups/${group}`).expect(204);
    await directory.send('GET', `/Groups/${group}`).expect(404);
    await noTask();
    expect(await withGroup('everyone')).toBe(0);
    expect(await sql('SELECT FROM directory_members')).toEqual([]);
    expect(await sql('SELECT FROM directory_groups')).toEqual([]);
  });

  it('goes on where an instance was killed', async () => {
    const group = randomUUID();
    await sql(
      `INSERT INTO directory_groups (id, provider, display_name, display_name_key, member_count) VALUES ($1, 'stub', 'left', 'left', $2)`,
      group,
      PEOPLE,
    );
    await sql(
      'INSERT INTO directory_members (group_id, user_id) SELECT $1, id FROM unnest($2::uuid[]) AS n (id)',
      group,
      ids,
    );
    const after = ids.toSorted()[999];
    await sql(
      `INSERT INTO directory_tasks (id, provider, kind, subject, after, created_at) VALUES ($1, 'stub', 'group', $2, $3, now() - interval '6 s')`,
      randomUUID(),
      group,
      after,
    );
    await noTask();
    expect(await withGroup('left')).toBe(PEOPLE - 1000);
    await sql(
      `INSERT INTO directory_tasks (id, provider, kind, subject, created_at) VALUES ($1, 'stub', 'everyone', 'stub', now() - interval '6 s')`,
      randomUUID(),
    );
    await noTask();
    expect(await withGroup('left')).toBe(PEOPLE);
    await signIn(service.url, 'person-1');
    expect(await withGroup('left')).toBe(PEOPLE);
  });
});

import { randomUUID } from 'node:crypto';
import { deriveUserId } from '../../src/identity/user-id.js';
import { DIRECTORY_ENV, DirectoryClient } from '../support/directory.js';
import { connect, query } from '../support/database.js';
import { startTestService } from '../support/service.js';
import { startServiceProcess } from '../support/service-process.js';
import { signIn } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';
import { use, useEach } from '../support/use.js';

/** More than two slices of 1,000 users. */
const PEOPLE = 2500;
/** Statements that wait for the lock of a user; on Citus, they do so on another server. */
const WAITING = `SELECT FROM pg_stat_activity
  WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()
    AND (wait_event_type = 'Lock' OR query LIKE '%FOR NO KEY UPDATE%') AND query_start < clock_timestamp() - interval '200 ms'`;

/** An instance is killed while it works for a directory; the other one lives. */
describe('a killed instance', () => {
  const provider = use(() => StubProvider.start());
  const env = () => ({ ...provider.env(), ...DIRECTORY_ENV, PUBLIC_URL: 'http://localhost:3000' });
  const here = use(() => startTestService(env()));
  const directory = new DirectoryClient(here);
  const holder = use(
    () => connect(here.databaseUrl),
    (one) => one.end(),
  );
  const victim = useEach(
    () => startServiceProcess({ ...env(), DATABASE_URL: here.databaseUrl, LOG_LEVEL: 'debug' }),
    (one) => one.end('SIGKILL'),
  );

  const sql = (text: string, ...values: unknown[]): Promise<Record<string, unknown>[]> =>
    query(here.databaseUrl, text, values);
  /** Lets the victim get as far as the row of a user, and kills it there. */
  async function killAt(userId: string, begin: () => PromiseLike<unknown>): Promise<void> {
    await holder.query('BEGIN');
    await holder.query('SELECT FROM users WHERE user_id = $1 FOR UPDATE', [userId]);
    begin().then(undefined, () => undefined);
    await until(async () => (await sql(WAITING)).length > 0);
    await victim.end('SIGKILL');
    await holder.query('ROLLBACK');
    await until(async () => (await sql(WAITING)).length === 0);
  }

  it('in a request: nothing is half done, and the repeated request does it once', async () => {
    const name = randomUUID();
    await signIn(here.url, name);
    const userId = deriveUserId('stub', name);
    const user = await directory.create('/Users', { userName: name, externalId: name });
    const group = await directory.create('/Groups', { displayName: `of ${name}` });
    await until(async () => (await sql('SELECT FROM directory_tasks')).length === 0); // that of the first group
    const state = async () =>
      sql(
        `SELECT (SELECT claims FROM users WHERE user_id = $1) AS claims,
          (SELECT count(*)::int FROM directory_members WHERE group_id = $2) AS members,
          (SELECT member_count FROM directory_groups WHERE id = $2) AS counted,
          (SELECT count(*)::int FROM directory_tasks) AS tasks,
          (SELECT count(*)::int FROM audit_events WHERE event = 'directory_changed') AS events,
          (SELECT count(*)::int FROM channel_events WHERE user_id = $1) AS sent`,
        userId,
        group,
      );
    const before = await state();
    const add = { op: 'add', path: 'members', value: [{ value: user }] };
    await killAt(userId, () => new DirectoryClient(victim).patch(`/Groups/${group}`, add));
    expect(await state()).toEqual(before);
    await directory.patch(`/Groups/${group}`, add).expect(204);
    const [{ events, sent }] = before as [{ events: number; sent: number }];
    const done = [
      {
        claims: { groups: [`of ${name}`] },
        members: 1,
        counted: 1,
        tasks: 0,
        events: events + 1,
        sent: sent + 1,
      },
    ];
    expect(await state()).toEqual(done);
    await directory.patch(`/Groups/${group}`, add).expect(204);
    expect(await state()).toEqual(done);
  });

  it('in a slice: its users have all of it or nothing, and another instance goes on', async () => {
    const people = Array.from({ length: PEOPLE }, () => ({ id: randomUUID(), name: randomUUID() }));
    people.sort((a, b) => (a.id < b.id ? -1 : 1));
    const [ids, names] = [people.map(({ id }) => id), people.map(({ name }) => name)];
    await sql(
      `INSERT INTO directory_users (id, provider, user_name, user_name_key, external_id, email_keys, active, resource)
       SELECT id, 'stub', name, name, name, '{}', true, jsonb_build_object('userName', name, 'externalId', name, 'active', true)
       FROM unnest($1::uuid[], $2::text[]) AS n (id, name)`,
      ids,
      names,
    );
    const userIds = names.map((name) => deriveUserId('stub', name));
    await sql(
      `INSERT INTO users (user_id, provider, provider_user_id) SELECT id, 'stub', name FROM unnest($1::uuid[], $2::text[]) AS n (id, name)`,
      userIds,
      names,
    );
    const withGroup = async (): Promise<string[]> => {
      const rows = await sql(`SELECT user_id FROM users WHERE claims -> 'groups' @> '["large"]'`);
      return rows.map((row) => row['user_id'] as string).toSorted();
    };
    const body = { displayName: 'large', members: ids.map((value) => ({ value })) };
    await killAt(userIds[1500]!, () => new DirectoryClient(victim).send('POST', '/Groups', body));
    expect(await withGroup()).toEqual(userIds.slice(0, 1200).toSorted());
    expect(await sql('SELECT kind, after FROM directory_tasks')).toEqual([
      { kind: 'group', after: ids[1199] },
    ]);
    await until(async () => (await sql('SELECT FROM directory_tasks')).length === 0);
    expect(await withGroup()).toEqual(userIds.toSorted());
    const counts = await sql(
      `SELECT count(*)::int AS n FROM channel_events WHERE event = 'claims.changed' AND data LIKE '%large%' GROUP BY user_id HAVING count(*) > 1`,
    );
    expect(counts).toEqual([]);
  });
});

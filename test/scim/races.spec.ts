import { randomUUID } from 'node:crypto';
import { deriveUserId } from '../../src/identity/user-id.js';
import { DIRECTORY_ENV, DirectoryClient } from '../support/directory.js';
import { connect, query } from '../support/database.js';
import { signIn } from '../support/sign-in.js';
import { until } from '../support/waiting.js';
import { use, useInstances } from '../support/use.js';

const PEOPLE = 20;
/** Statements that wait, here for a lock. */
const WAITING = `SELECT FROM pg_stat_activity
  WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid() AND query_start < clock_timestamp() - interval '200 ms'`;

/** Concurrent requests of a directory, to two instances. */
describe('concurrent requests of a directory', () => {
  const { here, there } = useInstances(DIRECTORY_ENV);
  const clients = [here, there].map((one) => new DirectoryClient(one));
  const holder = use(
    () => connect(here.databaseUrl),
    (one) => one.end(),
  );

  const sql = (text: string, ...values: unknown[]): Promise<Record<string, unknown>[]> =>
    query(here.databaseUrl, text, values);
  const member = (op: 'add' | 'remove', id: string): object => ({
    op,
    path: 'members',
    value: [{ value: id }],
  });
  const createUser = (name: string): Promise<string> =>
    clients[0]!.create('/Users', { userName: name, externalId: name });

  /** Adds a user to a group by each instance; both wait until they have begun. */
  async function bothAtOnce(name: string, groups: readonly string[], user: string): Promise<void> {
    await until(async () => (await sql('SELECT FROM directory_tasks')).length === 0); // that of the first group
    await holder.query('BEGIN');
    await holder.query('SELECT FROM users WHERE user_id = $1 FOR UPDATE', [deriveUserId('stub', name)]);
    const all = Promise.all(
      clients.map((one, i) => one.patch(`/Groups/${groups[i]!}`, member('add', user)).expect(204)),
    );
    await until(async () => (await sql(WAITING)).length === 2);
    await holder.query('ROLLBACK');
    await all;
  }

  it('groups of one user are all in the claims', async () => {
    const name = randomUUID();
    await signIn(here.url, name);
    const user = await createUser(name);
    const groups = await Promise.all(
      clients.map((one, i) => one.create('/Groups', { displayName: `${i} of ${name}` })),
    );
    await bothAtOnce(name, groups, user);
    const [row] = await sql('SELECT claims FROM users WHERE user_id = $1', deriveUserId('stub', name));
    expect(row).toEqual({ claims: { groups: [`0 of ${name}`, `1 of ${name}`] } });
  });

  it('members of one group are neither lost nor kept', async () => {
    const [mine, leaving] = [await people(), await people()];
    const group = await clients[0]!.create('/Groups', {
      displayName: randomUUID(),
      members: leaving.map((value) => ({ value })),
    });
    const path = `/Groups/${group}`;
    await Promise.all(
      mine.flatMap((id, i) => [
        clients[i % 2]!.patch(path, member('add', id)).expect(204),
        clients[(i + 1) % 2]!.patch(path, member('remove', leaving[i]!)).expect(204),
      ]),
    );
    const stored = await sql('SELECT user_id FROM directory_members WHERE group_id = $1', group);
    expect(new Set(stored.map((row) => row['user_id']))).toEqual(new Set(mine));
    expect(await sql('SELECT member_count FROM directory_groups WHERE id = $1', group)).toEqual([
      { member_count: PEOPLE },
    ]);
  });

  it('one request to both instances is done once', async () => {
    const name = randomUUID();
    await signIn(here.url, name);
    const user = await createUser(name);
    const group = await clients[0]!.create('/Groups', { displayName: name });
    const events = async (): Promise<unknown> =>
      (await sql(`SELECT count(*)::int AS n FROM audit_events WHERE event = 'directory_changed'`))[0]!['n'];
    const before = (await events()) as number;
    await bothAtOnce(name, [group, group], user);
    expect(await events()).toBe(before + 1);
    expect(await sql('SELECT member_count FROM directory_groups WHERE id = $1', group)).toEqual([
      { member_count: 1 },
    ]);
    const names = await Promise.all(
      clients.map((one) =>
        one.send('POST', '/Users', { userName: `Both.${group}` }).then(({ status }) => status),
      ),
    );
    expect(names.toSorted((a, b) => a - b)).toEqual([201, 409]);
  });

  function people(count = PEOPLE): Promise<string[]> {
    return Promise.all(Array.from({ length: count }, () => createUser(randomUUID())));
  }
});

import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { deriveUserId } from '../../../src/identity/user-id.js';
import { codeOf, PROVIDER } from '../names.js';
import { print, rowsRead, spread } from './figures.js';
import type { ScimClient } from './scim-client.js';

const SMALL = 10;
const REPEATED = 100;
/** PostgreSQL publishes its statistics at most once a second, after a transaction. */
const STATISTICS_MS = 1500;

/**
 * A group of many members, who have all signed in, beside one of ten: what a change of one member and a look
 * without members cost. Then its name is changed.
 */
export async function changeLargeGroup(
  ids: readonly string[],
  large: number,
  scim: ScimClient,
  admin: Client,
): Promise<void> {
  const members = ids.slice(0, Math.min(large, ids.length) - 1); // one more user joins and leaves
  await signInAll(admin, ids.length);
  const groups = new Map<number, string>();
  for (const count of [SMALL, members.length]) {
    const group = await scim.call('POST', '/Groups', {
      displayName: `of ${count}`,
      members: members.slice(0, count).map((value) => ({ value })),
    });
    groups.set(count, group);
    print(`POST of ${count} members`, `${scim.times.splice(0)[0]!.toFixed(0)} ms`);
  }
  await printReach(admin, `of ${members.length}`, members.length);
  await admin.query('ANALYZE');
  const other = ids.at(-1)!;
  for (const [count, group] of groups) {
    const path = `/Groups/${group}`;
    const value = [{ value: other }];
    await cost(`PATCH, one member of ${count + 1}`, scim, admin, async (i) => {
      await scim.patch(path, { op: i % 2 === 0 ? 'add' : 'remove', path: 'members', value });
    });
    await cost(`GET without members, of ${count}`, scim, admin, async () => {
      await scim.call('GET', `${path}?excludedAttributes=members`);
    });
  }
  await scim.patch(`/Groups/${groups.get(members.length)!}`, {
    op: 'replace',
    path: 'displayName',
    value: 'renamed',
  });
  print(`rename of ${members.length}: answer`, `${scim.times.splice(0)[0]!.toFixed(0)} ms`);
  await printReach(admin, 'renamed', members.length);
}

/** Latency, and rows that statements have read for each. */
async function cost(
  what: string,
  scim: ScimClient,
  admin: Client,
  call: (i: number) => Promise<void>,
): Promise<void> {
  for (let i = 0; i < SMALL; i++) await call(i);
  scim.times.splice(0);
  await delay(STATISTICS_MS);
  const before = await rowsRead(admin);
  for (let i = 0; i < REPEATED; i++) await call(i);
  await delay(STATISTICS_MS);
  const rows = ((await rowsRead(admin)) - before) / REPEATED;
  print(what, `${spread(scim.times.splice(0))}; ${rows.toFixed(1)} rows read`);
}

/** Waits until the users have the group, and prints how many a second got it. */
async function printReach(admin: Client, group: string, count: number): Promise<void> {
  const began = performance.now();
  for (;;) {
    const { rows } = await admin.query<{ n: number }>('SELECT count(*)::int AS n FROM directory_tasks');
    if (rows[0]!.n === 0) break;
    await delay(50);
  }
  const seconds = (performance.now() - began) / 1000;
  const { rows } = await admin.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM users WHERE claims -> 'groups' ? $1`,
    [group],
  );
  if (rows[0]!.n !== count) throw new Error(`${rows[0]!.n} of ${count} users have the group`);
  print(
    `"${group}" reached all users after the answer`,
    `${seconds.toFixed(1)} s, ${Math.round(count / seconds)} a second`,
  );
}

/** Not what is measured: users who have signed in. */
async function signInAll(admin: Client, count: number): Promise<void> {
  const codes = Array.from({ length: count }, (_, n) => codeOf(n));
  await admin.query(
    `INSERT INTO users (user_id, provider, provider_user_id, username)
     SELECT id, $1, code, code FROM unnest($2::uuid[], $3::text[]) AS n (id, code) ON CONFLICT DO NOTHING`,
    [PROVIDER, codes.map((code) => deriveUserId(PROVIDER, code)), codes],
  );
}

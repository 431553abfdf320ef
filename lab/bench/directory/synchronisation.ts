import type { Client } from 'pg';
import { codeOf } from '../names.js';
import { median, print, printTables, spread } from './figures.js';
import type { Options } from './options.js';
import type { ScimClient } from './scim-client.js';

/** Members that a request adds, as Entra and Okta do at most. */
const MEMBERS_A_REQUEST = 100;
/** Groups that a user has. */
const GROUPS_A_USER = 2;

const WARM_UP_MS = 2000;

/** Refreshes a second of other users, for a while. */
type Refresh = (milliseconds: number) => Promise<number>;

/**
 * The first synchronisation of a directory through the interface, for a while in windows by turns: refreshes
 * of other users alone, and beside it. Then it continues alone.
 * @returns the ids of the directory users
 */
export async function synchronise(
  { users, groups, rounds, seconds }: Options,
  scim: ScimClient,
  refresh: Refresh,
  admin: Client,
): Promise<string[]> {
  const ids: string[] = [];
  let begun = 0;
  const nextUser = (connection: Parameters<Parameters<ScimClient['drain']>[0]>[0]) => {
    if (begun >= users) return undefined;
    return scim.call('POST', '/Users', userOf(begun++), connection).then((id) => void ids.push(id));
  };
  await scim.drain(nextUser, performance.now() + WARM_UP_MS);
  scim.times.splice(0);
  const pairs: { alone: number; beside: number; requests: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    const beside = async (): Promise<number> => {
      const [count] = await Promise.all([
        refresh(seconds * 1000),
        scim.drain(nextUser, performance.now() + seconds * 1000),
      ]);
      return count;
    };
    const before = ids.length;
    const isAloneFirst = round % 2 === 0;
    const first = isAloneFirst ? await refresh(seconds * 1000) : await beside();
    const second = isAloneFirst ? await beside() : await refresh(seconds * 1000);
    const [alone, other] = isAloneFirst ? [first, second] : [second, first];
    pairs.push({ alone, beside: other, requests: (ids.length - before) / seconds });
  }
  print('refreshes a second alone', median(pairs.map(({ alone }) => alone)));
  print('refreshes a second beside', median(pairs.map(({ beside }) => beside)));
  print('beside over alone, median of the pairs', median(pairs.map((one) => one.beside / one.alone)));
  print('  each pair', pairs.map((one) => (one.beside / one.alone).toFixed(2)).join(' '));
  print('requests a second beside refreshes', median(pairs.map(({ requests }) => requests)));
  print('  each', spread(scim.times.splice(0)));

  const [done, began] = [ids.length, performance.now()];
  await scim.drain(nextUser);
  const took = (performance.now() - began) / 1000;
  print(`requests a second alone, of ${ids.length - done} users`, (ids.length - done) / took);
  print('  each', spread(scim.times.splice(0)));
  await synchroniseGroups(ids, groups, scim);
  await printTables(admin);
  return ids;
}

async function synchroniseGroups(ids: readonly string[], groups: number, scim: ScimClient): Promise<void> {
  const groupIds: string[] = [];
  let begun = 0;
  const began = performance.now();
  await scim.drain((connection) => {
    if (begun >= groups) return undefined;
    const body = { displayName: `group ${begun++}` };
    return scim.call('POST', '/Groups', body, connection).then((id) => void groupIds.push(id));
  });
  const size = Math.ceil((ids.length * GROUPS_A_USER) / groups);
  const requests = groupIds.flatMap((group, i) => {
    const members = Array.from({ length: size }, (_, n) => ids[(i * size + n) % ids.length]!);
    const slices = Math.ceil(members.length / MEMBERS_A_REQUEST);
    return Array.from({ length: slices }, (_, n) => ({
      group,
      members: members.slice(n * MEMBERS_A_REQUEST, (n + 1) * MEMBERS_A_REQUEST),
    }));
  });
  const count = groups + requests.length;
  await scim.drain((connection) => {
    const one = requests.shift();
    if (!one) return undefined;
    const value = one.members.map((id) => ({ value: id }));
    return scim.patch(`/Groups/${one.group}`, { op: 'add', path: 'members', value }, connection);
  });
  print(
    `requests a second of ${groups} groups, ${size} members`,
    (count * 1000) / (performance.now() - began),
  );
  print('  each', spread(scim.times.splice(0)));
}

/** The first users are those `fill` has signed in. */
function userOf(n: number): object {
  const name = codeOf(n);
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
    userName: `${name}@corp.example`,
    externalId: name,
    active: true,
    displayName: `Person ${n}`,
    name: { givenName: 'Person', familyName: String(n), formatted: `Person ${n}` },
    emails: [{ type: 'work', value: `${name}@corp.example`, primary: true }],
  };
}

import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../src/platform/database/pool/data-source.js';
import { Sql } from '../../src/platform/database/sql.js';
import { CitusSessionStore } from '../../src/citus/stores.js';
import { Session } from '../../src/token/sessions/session.entity.js';
import { SessionStore } from '../../src/token/sessions/session.store.js';
import { createDatabase, unhurriedOptions } from '../support/database.js';
import { use } from '../support/use.js';

const [MANY, FEW, NONE] = [randomUUID(), randomUUID(), randomUUID()];
const [PHONE, TABLET, LOST] = [randomUUID(), randomUUID(), randomUUID()];

/** Stored sessions: [user, device, end relative to now, whether signed out]. */
const SESSIONS: readonly [string, string | null, string, boolean][] = [
  [MANY, PHONE, '1 day', false],
  [MANY, PHONE, '2 days', false],
  [MANY, TABLET, '1 day', false],
  [MANY, null, '1 day', false],
  [MANY, LOST, '-2 hours', false],
  [MANY, LOST, '-1 hour', true],
  [MANY, null, '-1 hour', true],
  [FEW, TABLET, '1 day', false],
  [FEW, PHONE, '1 day', true], // signed out by a transaction that began later
];

describe('what other modules read of sessions', () => {
  let sessionIds: string[];
  const database = use(() => createDatabase());
  const dataSource = use(
    () => {
      const options = unhurriedOptions(dataSourceOptions(database.url, 4));
      return new DataSource({ ...options, entities: [Session] }).initialize();
    },
    (one) => one.destroy(),
  );
  beforeAll(async () => {
    sessionIds = SESSIONS.map(() => randomUUID());
    for (const [i, [userId, deviceId, end, isSignedOut]] of SESSIONS.entries())
      await dataSource.query(
        `INSERT INTO refresh_tokens (user_id, session_id, device_id, token_hash, expires_at, signed_out_at, last_used_at)
         VALUES ($1, $2, $3, '', now() + $4::interval, CASE WHEN $5 THEN now() END, now() - interval '1 hour')`,
        [userId, sessionIds[i], deviceId, end, isSignedOut],
      );
  });

  const store = (): SessionStore => new SessionStore(new Sql(dataSource), dataSource);

  it.each([
    ['one node', SessionStore],
    ['Citus', CitusSessionStore],
  ])('on %s: live sessions of several users, each up to a limit', async (_name, Store) => {
    const sessions = new Store(new Sql(dataSource), dataSource);
    const users = [FEW, NONE, MANY];
    expect(Object.fromEntries(await sessions.countLive(users))).toEqual({ [FEW]: 1, [NONE]: 0, [MANY]: 4 });
    expect(Object.fromEntries(await sessions.countLive(users, 3))).toEqual({
      [FEW]: 1,
      [NONE]: 0,
      [MANY]: 3,
    });
    expect((await sessions.countLive([])).size).toBe(0);
  });

  it('devices with a live session', async () => {
    expect(await store().findLiveDevices(MANY)).toEqual(new Set([PHONE, TABLET]));
    expect(await store().findLiveDevices(MANY, { among: [TABLET, LOST] })).toEqual(new Set([TABLET]));
    expect(await store().findLiveDevices(FEW, { among: [] })).toEqual(new Set());
    expect(await store().findLiveDevices(NONE)).toEqual(new Set());
  });

  it('devices with ended sessions, with the last end', async () => {
    const ended = await store().findEndedDevices(MANY);
    expect([...ended.keys()]).toEqual([LOST]);
    const hours = (Date.now() - ended.get(LOST)!.getTime()) / 3_600_000;
    expect(hours).toBeGreaterThan(0.9);
    expect(hours).toBeLessThan(1.9);
  });

  it('in the transaction of the caller', async () => {
    await dataSource
      .transaction(async (manager) => {
        await manager.query('DELETE FROM refresh_tokens');
        expect(await store().findLiveDevices(MANY, { manager })).toEqual(new Set());
        expect(await store().findEndedDevices(MANY, manager)).toEqual(new Map());
        expect((await store().findLiveDevices(MANY)).size).toBe(2);
        throw new Error('roll back');
      })
      .catch((error: Error) => expect(error.message).toBe('roll back'));
  });

  it('one session, and its last use', async () => {
    const key = { userId: MANY, sessionId: sessionIds[2]! };
    const before = await store().find(key);
    expect(before).toMatchObject({ ...key, deviceId: TABLET });
    await store().markUsed([key, { userId: NONE, sessionId: randomUUID() }]);
    const after = await store().find(key);
    expect(after!.lastUsedAt.getTime() - before!.lastUsedAt.getTime()).toBeGreaterThan(3_000_000);
    expect(await store().find({ ...key, userId: FEW })).toBeNull();
  });
});

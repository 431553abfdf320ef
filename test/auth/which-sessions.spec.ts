import { randomBytes, randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../src/database/pool/data-source.js';
import {
  endSessionsAtProvider,
  usersAtProvider,
  withItsSubjects,
  type NamesAtProvider,
} from '../../src/token/sessions/provider-sessions.store.js';
import { endSessions, type ScopeOf, type SessionScope } from '../../src/token/sessions/session.store.js';
import { createDatabase, type TestDatabase, unhurriedOptions } from '../support/database.js';

/** Which sessions end, as the database has them, without a service (contract §4, §6). */
describe('which sessions end', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  beforeEach(async () => {
    database = await createDatabase();
    dataSource = await new DataSource(unhurriedOptions(dataSourceOptions(database.url, 4))).initialize();
  });
  afterEach(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  /** Names of users, sessions and devices stand for UUIDs, the same each time. */
  const ids = new Map<string, string>();
  function id(name: string): string {
    const known = ids.get(name) ?? randomUUID();
    ids.set(name, known);
    return known;
  }
  const nameOf = (uuid: string): string => [...ids].find(([, one]) => one === uuid)![0];
  const bytes = (name: string | null): Buffer | null => (name === null ? null : Buffer.from(name));

  interface Stored {
    readonly session: string;
    readonly user?: string;
    readonly device?: string | null;
    /** What the provider calls it and its user. */
    readonly names?: readonly [session: string | null, subject: string | null];
  }
  async function store(sessions: readonly Stored[]): Promise<void> {
    for (const { session, user = 'ada', device = null, names = [null, null] } of sessions) {
      await dataSource.query(
        `INSERT INTO refresh_tokens (user_id, session_id, device_id, token_hash, expires_at, provider_session, provider_subject)
         VALUES ($1, $2, $3, $4, now() + interval '1 day', $5, $6)`,
        [id(user), id(session), device && id(device), randomBytes(4), bytes(names[0]), bytes(names[1])],
      );
    }
  }
  interface Row {
    readonly session_id: string;
    readonly signed_out_at: Date | null;
    readonly is_over: boolean;
  }
  const rows = (): Promise<Row[]> =>
    dataSource.query(`SELECT *, expires_at <= now() AS is_over FROM refresh_tokens`);
  async function over(): Promise<string[]> {
    const all = await rows();
    expect(all.map((row) => row.signed_out_at !== null)).toEqual(all.map((row) => row.is_over));
    return all
      .filter((row) => row.is_over)
      .map((row) => nameOf(row.session_id))
      .toSorted();
  }

  describe('by a user', () => {
    const end = (scope: SessionScope, of: Partial<Record<keyof ScopeOf, string | null>>) =>
      dataSource.transaction((manager) =>
        endSessions(manager, scope, {
          userId: id('ada'),
          sessionId: of.sessionId ? id(of.sessionId) : null,
          deviceId: of.deviceId ? id(of.deviceId) : null,
        }),
      );
    beforeEach(() =>
      store([
        { session: 'phone 1', device: 'phone' },
        { session: 'phone 2', device: 'phone' },
        { session: 'laptop', device: 'laptop' },
        { session: 'none 1' },
        { session: 'none 2' },
        { session: 'of bob', user: 'bob', device: 'phone' },
      ]),
    );

    it.each<[SessionScope, Parameters<typeof end>[1], sessions: string[], devices: (string | null)[]]>([
      ['session', { sessionId: 'phone 1', deviceId: 'phone' }, ['phone 1'], ['phone']],
      ['session', { sessionId: 'none 1' }, ['none 1'], [null]],
      ['session', { sessionId: 'of bob', deviceId: 'phone' }, [], []],
      ['device', { sessionId: 'laptop', deviceId: 'phone' }, ['phone 1', 'phone 2'], ['phone', 'phone']],
      ['device', {}, [], []],
      [
        'others',
        { sessionId: 'phone 1', deviceId: 'phone' },
        ['laptop', 'none 1', 'none 2'],
        ['laptop', null, null],
      ],
      [
        'others',
        { sessionId: 'none 1' },
        ['laptop', 'none 2', 'phone 1', 'phone 2'],
        ['laptop', 'phone', 'phone', null],
      ],
      [
        'all',
        {},
        ['laptop', 'none 1', 'none 2', 'phone 1', 'phone 2'],
        ['laptop', 'phone', 'phone', null, null],
      ],
    ])('%s of %j', async (scope, of, sessions, devices) => {
      const ended = await end(scope, of);
      expect(ended.map((device) => String(device && nameOf(device))).toSorted()).toEqual(
        devices.map(String).toSorted(),
      );
      expect(await over()).toEqual(sessions);
    });

    it('is written once: a session that has ended stays as it is', async () => {
      await end('session', { sessionId: 'laptop' });
      const [first] = (await rows()).filter(({ is_over }) => is_over);
      expect(await end('session', { sessionId: 'laptop' })).toEqual([]);
      expect((await rows()).filter(({ is_over }) => is_over)).toEqual([first]);
    });
  });

  describe('by a provider', () => {
    const names = (session: string | null, ...subjects: string[]): NamesAtProvider => ({
      session: bytes(session),
      subjects: subjects.map((subject) => Buffer.from(subject)),
    });
    const manager = () => dataSource.manager;

    // A session's own name counts; by its subject one is meant whose own name is not known, or where none is said.
    it.each<[string, NamesAtProvider, sessions: string[]]>([
      ['a session', names('s'), ['s of u', 's']],
      ['a session and its subject', names('s', 'u'), ['s of u', 's', 'of u']],
      ['a subject', names(null, 'u'), ['s of u', 't of u', 'of u']],
      ['two subjects', names(null, 'u', 'v'), ['s of u', 't of u', 'of u', 'of v']],
      ['nobody', names(null), []],
    ])('%s', async (_what, meant, sessions) => {
      await store([
        { session: 's of u', names: ['s', 'u'], device: 'phone' },
        { session: 's', names: ['s', null], user: 'eve' },
        { session: 't of u', names: ['t', 'u'] },
        { session: 'of u', names: [null, 'u'], user: 'bob' },
        { session: 'of v', names: [null, 'v'], user: 'bob' },
        { session: 'without' },
      ]);
      const owners: Record<string, string> = { s: 'eve', 'of u': 'bob', 'of v': 'bob' };
      const users = new Set(sessions.map((session) => owners[session] ?? 'ada'));
      const found = await usersAtProvider(manager(), meant);
      expect(found).toEqual([...users].map(id).toSorted());
      for (const isFirst of [true, false]) {
        const devices = await Promise.all(found.map((user) => endSessionsAtProvider(manager(), user, meant)));
        expect(devices.flat()).toHaveLength(isFirst ? sessions.length : 0);
        expect(devices.flat().filter(Boolean)).toEqual(
          isFirst && sessions.includes('s of u') ? [id('phone')] : [],
        );
      }
      expect(await over()).toEqual(sessions.toSorted());
      expect(await usersAtProvider(manager(), meant)).toEqual([]);
    });

    it('only those of the user', async () => {
      await store([
        { session: 'a', names: ['s', null] },
        { session: 'b', names: ['s', null], user: 'bob' },
      ]);
      expect(await endSessionsAtProvider(manager(), id('bob'), names('s'))).toEqual([null]);
      expect(await over()).toEqual(['b']);
    });

    it('a session alone means its subjects as well', async () => {
      await store([
        { session: 'a', names: ['s', 'u'] },
        { session: 'b', names: ['s', 'u'] },
        { session: 'c', names: ['s', 'v'] },
        { session: 'd', names: ['s', null] },
        { session: 'e', names: ['t', 'w'] },
      ]);
      const found = await withItsSubjects(manager(), names('s'));
      expect(found.session).toEqual(Buffer.from('s'));
      expect(found.subjects.map(String).toSorted()).toEqual(['u', 'v']);
      for (const whole of [names('s', 'x'), names(null, 'u'), names(null)])
        expect(await withItsSubjects(manager(), whole)).toEqual(whole);
    });

    // A provider that calls everybody's session the same must not end them all.
    it('never those of more than a hundred users', async () => {
      const add = (users: number): Promise<unknown> =>
        dataSource.query(
          `INSERT INTO refresh_tokens (user_id, session_id, token_hash, expires_at, provider_session)
           SELECT gen_random_uuid(), gen_random_uuid(), '\\x00', now() + interval '1 day', 's' FROM generate_series(1, $1)`,
          [users],
        );
      await add(100);
      const users = await usersAtProvider(manager(), names('s'));
      expect(new Set(users).size).toBe(100);
      expect(users).toEqual(users.toSorted());
      await add(1);
      await expect(usersAtProvider(manager(), names('s'))).rejects.toMatchObject({
        name: 'TooManyUsers',
        message: expect.stringContaining('100'),
      });
    });
  });
});

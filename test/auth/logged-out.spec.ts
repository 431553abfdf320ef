import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../src/database/pool/data-source.js';
import { Sql } from '../../src/database/statements/sql.js';
import { Events } from '../../src/events.js';
import { hashOfName } from '../../src/provider/logout/hash-of-name.js';
import { LoggedOut } from '../../src/provider/logout/logged-out.js';
import { rememberLogout } from '../../src/provider/logout/logout-token.store.js';
import { createDatabase, type TestDatabase, unhurriedOptions } from '../support/database.js';

interface Names {
  readonly subject: string | null;
  readonly session: string | null;
}
const of = (subject: string | null, session: string | null): Names => ({ subject, session });

/** What providers have logged out, as the database keeps it, without a service (contract §6). */
describe('what was logged out', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let events: Events;
  beforeEach(async () => {
    database = await createDatabase();
    dataSource = await new DataSource(unhurriedOptions(dataSourceOptions(database.url, 4))).initialize();
    events = new Events();
  });
  afterEach(async () => {
    if (dataSource.isInitialized) await dataSource.destroy();
    await database.drop();
  });

  const loggedOut = (isDistributed = false): LoggedOut =>
    new LoggedOut(new Sql(dataSource, isDistributed, events));
  const remember = (it: LoggedOut, logout: Names, provider = 'corp'): Promise<void> =>
    dataSource.transaction((manager) => it.remember(manager, provider, logout));
  const rows = (): Promise<{ hash: Buffer; left: number }[]> =>
    dataSource.query(
      'SELECT token_hash AS hash, extract(epoch FROM expires_at - now())::float8 AS left FROM logout_tokens',
    );

  /** The database's clock, in milliseconds. */
  async function now(): Promise<number> {
    const [row] = await dataSource.query<{ ms: number }[]>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
    );
    return row!.ms;
  }

  describe.each([
    ['asked together', false],
    ['asked alone, as on Citus', true],
  ])('%s', (_form, isDistributed) => {
    // A logout of subject and session means that session, and those of the subject that have no name.
    it.each<[Names, [identity: Names, isMeant: boolean][]]>([
      [
        of('u', 's'),
        [
          [of('u', 's'), true],
          [of('u', null), true],
          [of(null, 's'), true],
          [of('u', 't'), false],
          [of('v', null), false],
          [of('s', 'u'), false],
        ],
      ],
      [
        of('u', null),
        [
          [of('u', 's'), true],
          [of('u', null), true],
          [of('v', 'u'), false],
          [of('v', null), false],
          [of(null, 'u'), false],
        ],
      ],
      [
        of(null, 's'),
        [
          [of('u', 's'), true],
          [of(null, 's'), true],
          [of('u', null), false],
          [of('s', null), false],
          [of('s', 't'), false],
        ],
      ],
      [of(null, null), [[of('u', 's'), false]]],
    ])('%j means whom it names', async (logout, identities) => {
      const it = loggedOut(isDistributed);
      const asked = await now();
      await remember(it, logout);
      const found = await Promise.all(identities.map(([identity]) => it.since(asked, 'corp', identity)));
      expect(identities.map(([identity], i) => [identity, found[i]])).toEqual(identities);
      for (const [identity] of identities) expect(await it.since(asked, 'other', identity)).toBe(false);
    });

    it('only if it came after the provider was asked', async () => {
      const it = loggedOut(isDistributed);
      const before = await now();
      await remember(it, of('u', 's'));
      const after = await now();
      expect(
        await Promise.all([before, after + 1, before].map((asked) => it.since(asked, 'corp', of('u', 's')))),
      ).toEqual([true, false, true]);
      await remember(it, of('u', 's'));
      expect(await it.since(after, 'corp', of('u', 's'))).toBe(true); // the last one counts
    });

    it('nobody is asked about one who has no names: their provider sends no logouts', async () => {
      const it = loggedOut(isDistributed);
      await dataSource.destroy();
      expect(await it.since(0, 'corp', of(null, null))).toBe(false);
    });

    it('by a statement that is planned once for each connection', async () => {
      await loggedOut(isDistributed).since(0, 'corp', of('u', 's'));
      const kept = await dataSource.query<{ name: string }[]>('SELECT name FROM pg_prepared_statements');
      expect(kept.map((row) => row.name)).toContain('logged-out-since-one'); // of the one connection that there is yet
    });
  });

  it('asked together is told for metrics', async () => {
    const told: unknown[] = [];
    events.on('statement.shared', ({ name }) => void told.push(name));
    await loggedOut().since(0, 'corp', of('u', 's'));
    expect(told).toEqual(['logged-out-since']);
  });

  // Instances of two versions read what the other one has written.
  it.each<[Names, string[][]]>([
    [
      of('u', 's'),
      [
        ['session', 's'],
        ['unnamed', 'u'],
      ],
    ],
    [of('u', null), [['subject', 'u']]],
    [of(null, 's'), [['session', 's']]],
  ])('is kept as hashes, for two minutes: %j', async (logout, names) => {
    await remember(loggedOut(), logout);
    const kept = await rows();
    const hashes = names.map((name) => hashOfName('corp', ...name).toString('hex'));
    expect(kept.map(({ hash }) => hash.toString('hex')).toSorted()).toEqual(hashes.toSorted());
    for (const { left } of kept) {
      expect(left).toBeGreaterThan(90);
      expect(left).toBeLessThanOrEqual(120);
    }
  });

  it('is nothing where a logout names nobody', async () => {
    await remember(loggedOut(), of(null, null));
    expect(await rows()).toEqual([]);
  });

  describe('by a token', () => {
    const obey = (jti = 'j', provider = 'corp', until = 0): Promise<boolean> =>
      dataSource.transaction((manager) =>
        rememberLogout(manager, provider, { jti, until, subject: 'u', session: null }),
      );

    // OpenID Connect Back-Channel Logout 1.0 §2.6: a `jti` is good once.
    it('is obeyed once, for each provider', async () => {
      expect(await obey()).toBe(true);
      expect(await obey()).toBe(false);
      expect(await obey('other')).toBe(true);
      expect(await obey('j', 'other')).toBe(true);
    });

    it('is obeyed by one of those that come at once, and again where that was undone', async () => {
      const together = await Promise.all([obey(), obey(), obey(), obey()]);
      expect(together.filter(Boolean)).toHaveLength(1);
      const undone = dataSource.transaction(async (manager) => {
        await rememberLogout(manager, 'corp', { jti: 'k', until: 0, subject: 'u', session: null });
        throw new Error('undone');
      });
      await expect(undone).rejects.toThrow('undone');
      expect(await obey('k')).toBe(true);
    });

    it('is remembered a minute longer than it is good', async () => {
      await obey('j', 'corp', Math.floor((await now()) / 1000) + 100);
      const [{ hash, left }] = (await rows()) as [{ hash: Buffer; left: number }];
      expect(hash).toEqual(hashOfName('corp', 'j'));
      expect(left).toBeGreaterThan(130);
      expect(left).toBeLessThanOrEqual(160);
    });
  });
});

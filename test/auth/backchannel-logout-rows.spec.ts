import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { BackchannelLogout } from '../../src/features/provider-events/effect/backchannel-logout.service.js';
import { ProviderEnds } from '../../src/features/provider-events/effect/provider-ends.js';
import { createAuditStore } from '../support/citus.js';
import { SignInStore } from '../../src/auth/sign-in/sign-in.store.js';
import { ChannelHistory } from '../../src/channel/channel.history.js';
import type { Settings } from '../../src/platform/config/settings/settings.js';
import { DatabaseBusy } from '../../src/platform/database/limits.js';
import { dataSourceOptions } from '../../src/platform/database/pool/data-source.js';
import { Sql } from '../../src/platform/database/sql.js';
import { DeviceStore } from '../../src/device/device.store.js';
import { SignOutService } from '../../src/device/sign-out.service.js';
import { OAuthError } from '../../src/platform/errors/oauth-error.js';
import { ENTITIES } from '../../src/entities.js';
import { Events, type RecordedEvent } from '../../src/platform/events.js';
import { hashIfNamed, hashOfName, RecentEnds, rememberToken } from '../../src/token/sessions/recent-ends.js';
import type { Logout } from '../../src/features/provider-events/verify/provider-tokens.js';
import { SessionStore } from '../../src/token/sessions/session.store.js';
import { User } from '../../src/user/user.entity.js';
import { UserStore } from '../../src/user/user.store.js';
import { createDatabase, unhurriedOptions } from '../support/database.js';
import { NOWHERE } from '../support/audit.js';
import { NO_FEATURES, signInOf } from '../support/sign-in.js';
import { use } from '../support/use.js';

type Names = Pick<Logout, 'subject' | 'session'>;
const of = (subject: string | null, session: string | null = null): Names => ({ subject, session });

/**
 * What a valid logout token changes (docs/provider-sign-out.md#back-channel-logout), on a database without a service;
 * backchannel-logout.spec.ts has the endpoint.
 */
describe('the rows of a logout by the provider', () => {
  let events: Events;
  const database = use(() => createDatabase());
  const dataSource = use(
    () => {
      const options = unhurriedOptions(dataSourceOptions(database.url, 4));
      return new DataSource({ ...options, entities: ENTITIES }).initialize();
    },
    (one) => one.destroy(),
  );
  beforeEach(async () => {
    events = new Events();
    await dataSource.query('TRUNCATE users, devices, refresh_tokens, access_tokens, channels, logout_tokens');
  });
  afterEach(() => jest.restoreAllMocks());

  describe('that ends sessions', () => {
    let signIns: SignInStore;
    let history: ChannelHistory;
    let logout: BackchannelLogout;
    /** The recorded sign-outs. */
    let reported: RecordedEvent[];
    let counted: unknown[];
    let warned: unknown[];
    /** What the token says; an error: it is bad. */
    let verified: Logout | Error;

    beforeEach(() => {
      [reported, counted, warned] = [[], [], []];
      events.removeAllListeners('audit.recorded').on('audit.recorded', (recorded) => {
        reported.push(...recorded.filter(({ event }) => event === 'sign_out'));
      });
      const sql = new Sql(dataSource, false, events);
      const audit = createAuditStore(dataSource, sql, events, {
        auditRetentionDays: 90,
        auditClaims: 'full',
      });
      const sessions = new SessionStore(sql, dataSource);
      signIns = new SignInStore(
        sql,
        dataSource,
        audit,
        events,
        new DeviceStore(dataSource, sql, sessions, NO_FEATURES),
        { channelHistory: 1000 },
      );
      history = new ChannelHistory(dataSource, sql, events, { channelHistory: 1000 } as Settings);
      const ends = new RecentEnds(sql);
      const users = new UserStore(sql, dataSource.getRepository(User), NO_FEATURES);
      const signOuts = new SignOutService(history, audit, sql, ends, NO_FEATURES, users, sessions);
      logout = new BackchannelLogout(
        {
          verifyLogout: () =>
            verified instanceof Error ? Promise.reject(verified) : Promise.resolve(verified),
        } as never,
        new ProviderEnds(history, signOuts, ends, audit),
        { count: (...what: unknown[]) => Promise.resolve(void counted.push(what)) } as never,
      );
      jest.spyOn(Logger.prototype, 'warn').mockImplementation((line: unknown) => void warned.push(line));
    });

    const obey = (what: Names | Error): Promise<void> => {
      const rest = { jti: randomUUID(), until: Date.now() / 1000 + 120 };
      verified = what instanceof Error ? what : { ...rest, ...what };
      return logout.apply('corp', 'a token', NOWHERE, '192.0.2.1');
    };
    const userOf = (name: string): string => signInOf(name).session.userId;

    /** Sessions by their names, each of a user, with what the provider calls them. */
    async function store(sessions: Record<string, readonly [user: string, names: Names]>): Promise<void> {
      for (const [name, [user, { subject, session }]] of Object.entries(sessions)) {
        const fields = {
          refreshTokenHash: Buffer.from(name),
          providerSubject: hashIfNamed('corp', subject),
          providerSession: hashIfNamed('corp', session),
        };
        await signIns.execute([signInOf(user, fields)], null);
      }
    }
    async function ended(): Promise<string[]> {
      const rows = await dataSource.query<{ name: string; over: boolean; out: boolean }[]>(
        `SELECT convert_from(token_hash, 'utf8') AS name, expires_at <= now() AS over, signed_out_at IS NOT NULL AS out
         FROM refresh_tokens`,
      );
      expect(rows.map(({ over }) => over)).toEqual(rows.map(({ out }) => out));
      return rows
        .filter(({ out }) => out)
        .map(({ name }) => name)
        .toSorted();
    }

    // A session's own name counts. By its subject a session is meant if its own name is not known, or if no session is named.
    it.each<[string, Names, sessions: string[], users: string[]]>([
      [
        'a session: also those of its subjects',
        of(null, 's'),
        ['of u', 'of v', 's', 's of u'],
        ['ada', 'bo', 'eve'],
      ],
      ['a session and its subject', of('u', 's'), ['of u', 's', 's of u'], ['ada', 'bo', 'eve']],
      ['a session that is unknown, and its subject', of('u', 'x'), ['of u'], ['bo']],
      ['a subject', of('u'), ['of u', 's of u', 't of u'], ['ada', 'bo']],
      ['another subject', of('v'), ['of v', 's'], ['bo', 'eve']],
      ['an unknown subject', of('nobody'), [], []],
    ])('names %s', async (_what, names, sessions, users) => {
      await store({
        's of u': ['ada', of('u', 's')],
        s: ['eve', of('v', 's')],
        't of u': ['ada', of('u', 't')],
        'of u': ['bo', of('u')],
        'of v': ['bo', of('v')],
        without: ['cleo', of(null)],
      });
      await obey(names);
      expect(await ended()).toEqual(sessions);
      expect(reported).toHaveLength(sessions.length);
      expect(new Set(reported.map(({ user_id }) => user_id))).toEqual(new Set(users.map(userOf)));
      for (const { actor, provider } of reported) {
        expect([actor, provider]).toEqual([{ type: 'provider', name: 'corp' }, 'corp']);
      }
      await obey(names);
      expect(reported).toHaveLength(sessions.length);
      expect(counted).toEqual([]);
    });

    // Bad tokens are counted; what is no fault of the sender is not.
    it.each<[string, Error, boolean]>([
      ['a bad one', new OAuthError('invalid_request', 'bad'), true],
      ['one that could not be verified', new OAuthError('server_error', 'away'), false],
      ['any other failure', Object.assign(new Error('x'), { error: 'invalid_request' }), false],
    ])('is refused as its token was: %s', async (_which, error, isCounted) => {
      await expect(obey(error)).rejects.toBe(error);
      expect(counted).toEqual(isCounted ? [['bad_token', '192.0.2.1']] : []);
      expect(reported).toEqual([]);
    });

    // A provider that gives all sessions one name must not end them all.
    it.each([
      [100, 0],
      [101, 1],
    ])('names a session of %i users', async (users, warnings) => {
      const crowd = Array.from({ length: users }, (_, i) =>
        signInOf(`user ${i}`, { providerSession: hashOfName('corp', 'all') }),
      );
      await signIns.execute(crowd, null);
      const done = obey(of(null, 'all'));
      if (warnings === 0) await done;
      else
        await expect(done).rejects.toMatchObject({
          error: 'invalid_request',
          description: 'the logout token names too many users',
        });
      const living = 'SELECT FROM refresh_tokens WHERE signed_out_at IS NULL';
      expect(await dataSource.query(living)).toHaveLength(warnings * users);
      expect(warned).toEqual(
        warnings ? [expect.stringMatching(/logout token of provider corp was refused: .*100 users/)] : [],
      );
      expect(counted).toHaveLength(warnings);
      expect(reported).toHaveLength((1 - warnings) * users);
    });

    it('records sessions that began meanwhile as well', async () => {
      await store({ first: ['ada', of('u')] });
      const transaction: typeof history.transaction = history.transaction.bind(history);
      const late: typeof transaction = async (work) => {
        await store({ late: ['ada', of('u')] });
        return transaction(work);
      };
      jest.spyOn(history, 'transaction').mockImplementationOnce(transaction).mockImplementationOnce(late);
      await obey(of('u'));
      expect(reported.map(({ user_id }) => user_id)).toEqual([userOf('ada'), userOf('ada')]);
    });

    it('is done, with a warning, if the database goes away before the second look', async () => {
      await store({ first: ['ada', of('u')] });
      const away = new DatabaseBusy('away');
      const transaction = history.transaction.bind(history);
      jest.spyOn(history, 'transaction').mockImplementationOnce(transaction).mockRejectedValueOnce(away);
      await obey(of('u'));
      expect(await ended()).toEqual(['first']);
      expect(reported.map(({ user_id }) => user_id)).toEqual([userOf('ada')]);
      expect(warned).toEqual([{ err: away, msg: expect.stringContaining('could not be ended') }]);
    });
  });

  const loggedOut = (isDistributed = false): RecentEnds =>
    new RecentEnds(new Sql(dataSource, isDistributed, events));
  const remember = (it: RecentEnds, logout: Names, provider = 'corp'): Promise<void> =>
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
    ['batched', false],
    ['single, as on Citus', true],
  ])('%s', (_form, isDistributed) => {
    // A logout of subject and session applies to that session, and to unnamed sessions of the subject.
    const identities = [
      of('u', 's'),
      of('u'),
      of(null, 's'),
      of('u', 't'),
      of('v'),
      of('s', 'u'),
      of(null, 'u'),
    ];
    it.each<[logout: Names, applies: boolean[]]>([
      [of('u', 's'), [true, true, true, false, false, false, false]],
      [of('u'), [true, true, false, true, false, false, false]],
      [of(null, 's'), [true, false, true, false, false, false, false]],
      [of(null), [false, false, false, false, false, false, false]],
    ])('%j applies to the sessions it names', async (logout, applies) => {
      const it = loggedOut(isDistributed);
      const asked = await now();
      await remember(it, logout);
      const since = (provider: string) =>
        Promise.all(identities.map((identity) => it.since(asked, { provider, identity })));
      expect(await since('corp')).toEqual(applies);
      expect(await since('other')).toEqual(identities.map(() => false));
    });

    it('only if it came after the provider was asked', async () => {
      const it = loggedOut(isDistributed);
      const before = await now();
      await remember(it, of('u', 's'));
      const after = await now();
      expect(
        await Promise.all(
          [before, after + 1, before].map((asked) =>
            it.since(asked, { provider: 'corp', identity: of('u', 's') }),
          ),
        ),
      ).toEqual([true, false, true]);
      await remember(it, of('u', 's'));
      expect(await it.since(after, { provider: 'corp', identity: of('u', 's') })).toBe(true); // the last one counts
    });
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
  ])('is kept as hashes, for twelve minutes: %j', async (logout, names) => {
    await remember(loggedOut(), logout);
    const kept = await rows();
    const hashes = names.map((name) => hashOfName('corp', ...name).toString('hex'));
    expect(kept.map(({ hash }) => hash.toString('hex')).toSorted()).toEqual(hashes.toSorted());
    for (const { left } of kept) {
      expect(left).toBeGreaterThan(690);
      expect(left).toBeLessThanOrEqual(720);
    }
  });

  // OpenID Connect Back-Channel Logout 1.0 §2.6: a `jti` is good once.
  it('keeps the jti of each provider, until a minute after the token has expired', async () => {
    const until = Math.floor((await now()) / 1000) + 100;
    const obey = (jti: string, provider: string): Promise<boolean> =>
      dataSource.transaction((manager) => rememberToken(manager, hashOfName(provider, jti), until + 60));
    expect(await obey('j', 'corp')).toBe(true);
    const [{ hash, left }] = (await rows()) as [{ hash: Buffer; left: number }];
    expect(hash).toEqual(hashOfName('corp', 'j'));
    expect(left).toBeGreaterThan(130);
    expect(left).toBeLessThanOrEqual(160);
    expect(await obey('j', 'corp')).toBe(false);
    expect(await obey('j', 'other')).toBe(true);
  });
});

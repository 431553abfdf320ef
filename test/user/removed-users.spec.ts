import { RecentEnds } from '../../src/token/sessions/recent-ends.js';
import { randomBytes, randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { DataSource } from 'typeorm';
import { AuthorizationCode } from '../../src/auth/clients/authorization-code.entity.js';
import { SealedIdentities } from '../../src/auth/sealed-identities.js';
import { AuthorizationCodes } from '../../src/auth/clients/authorization-codes.js';
import { SignInStore } from '../../src/auth/sign-in/sign-in.store.js';
import type { SignIn } from '../../src/auth/sign-in/sign-in-columns.js';
import { CitusSignInStore } from '../../src/citus/sign-in.store.js';
import type { Origin } from '../../src/audit/audit-event.js';
import { StoredAuditEvent } from '../../src/audit/audit-event.entity.js';
import { createAuditStore } from '../support/citus.js';
import { AuditStore } from '../../src/audit/audit.store.js';
import { UsersService } from '../../src/features/administration/users/users.service.js';
import { Channel, StoredChannelEvent } from '../../src/channel/channel-event.entity.js';
import { ChannelHistory } from '../../src/channel/channel.history.js';
import { Instance, Presence } from '../../src/channel/presence.entity.js';
import { PresenceStore } from '../../src/channel/presence.store.js';
import { SecretKey } from '../../src/platform/config/secrets/secret-key.js';
import type { Settings } from '../../src/platform/config/settings/settings.js';
import { dataSourceOptions } from '../../src/platform/database/pool/data-source.js';
import type { Clock } from '../../src/platform/database/clock.js';
import { Sql, type Statement } from '../../src/platform/database/sql.js';
import { DeviceStore } from '../../src/device/device.store.js';
import { Device } from '../../src/device/device.entity.js';
import { SignOutService } from '../../src/device/sign-out.service.js';
import { Events, type RecordedEvent } from '../../src/platform/events.js';
import { UserRemoval } from '../../src/auth/sign-out/user-removal.js';
import { KeyStore } from '../../src/token/keys/key.store.js';
import { IdTokens } from '../../src/token/sessions/id-tokens.js';
import { Session } from '../../src/token/sessions/session.entity.js';
import { SessionStore } from '../../src/token/sessions/session.store.js';
import { UserChanges } from '../../src/user/user-changes.store.js';
import { UserWord } from '../../src/user/search/user-word.entity.js';
import { User } from '../../src/user/user.entity.js';
import { ClaimsStore } from '../../src/user/claims.store.js';
import { UserStore } from '../../src/user/user.store.js';
import { VoidClaims } from '../../src/user/void-claims.entity.js';
import { NOWHERE } from '../support/audit.js';
import { createDatabase, unhurriedOptions } from '../support/database.js';
import { NO_FEATURES, signInOf } from '../support/sign-in.js';
import { until } from '../support/waiting.js';
import { useEach } from '../support/use.js';

const WAITING = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
const NOT_FOUND = { error: 'not_found', description: 'there is no such user, device or session' };

/** Remembers which statements were asked. */
class WatchedSql extends Sql {
  readonly asked: string[] = [];
  override query<Row extends object>(statement: Statement, values: unknown[]): Promise<Row[]> {
    this.asked.push(statement.name);
    return super.query(statement, values);
  }
}

const BACKEND: Origin = { ...NOWHERE, actor: { type: 'service_key', name: 'backend' } };

/** What an application's backend does about users, on a database without a service. */
describe.each([
  ['', false],
  [', as on Citus', true],
])('users who are signed out and removed%s', (_form, isDistributed) => {
  /** Recorded events besides sign-ins. */
  let told: RecordedEvent[];
  let sql: WatchedSql;
  let presence: PresenceStore;
  let codes: AuthorizationCodes;
  let signIns: SignInStore;
  let users: UsersService;
  let devices: DeviceStore;
  let ada: SignIn;
  let other: SignIn;

  const database = useEach(() => createDatabase());
  const entities = [
    AuthorizationCode,
    Channel,
    Device,
    Instance,
    Presence,
    Session,
    StoredAuditEvent,
    StoredChannelEvent,
    User,
    UserWord,
    VoidClaims,
  ];
  const dataSource = useEach(
    () =>
      new DataSource({
        ...unhurriedOptions(dataSourceOptions(database.url, 4)),
        entities,
      }).initialize(),
    (one) => one.destroy(),
  );
  beforeEach(async () => {
    const events = new Events();
    told = [];
    events.on('audit.recorded', (recorded) => {
      told.push(...recorded.filter(({ event }) => event !== 'sign_in'));
    });
    sql = new WatchedSql(dataSource, isDistributed, events);
    const audit = createAuditStore(dataSource, sql, events, { auditRetentionDays: 90, auditClaims: 'full' });
    const history = new ChannelHistory(dataSource, sql, events, { channelHistory: 1000 } as Settings);
    presence = new PresenceStore(dataSource.getRepository(Instance), dataSource.getRepository(Presence), sql);
    const secretKey = new SecretKey(randomBytes(32));
    const idTokens = new IdTokens({ secretKey });
    codes = new AuthorizationCodes(dataSource, sql, new SealedIdentities(idTokens));
    const sessions = new SessionStore(sql, dataSource);
    devices = new DeviceStore(dataSource, sql, sessions, NO_FEATURES);
    const userStore = new UserStore(sql, dataSource.getRepository(User), NO_FEATURES);
    const ends = new RecentEnds(sql);
    const signOuts = new SignOutService(history, audit, sql, ends, NO_FEATURES, userStore, sessions);
    const changes = new UserChanges(audit, { now: () => Date.now() } as Clock);
    const keys = new KeyStore(dataSource, audit, { secretKey, accessTokenTtl: 600 });
    const removals = [
      signOuts,
      devices,
      history,
      presence,
      codes,
      userStore,
      keys,
      audit,
      dataSource,
    ] as const;
    users = new UsersService(
      signOuts,
      devices,
      history,
      new UserRemoval(...removals),
      new ClaimsStore(sql, history, {} as Clock, changes, {} as Settings),
      userStore,
      sessions,
      audit,
      sql,
    );
    ada = signInOf('ada', {}, randomUUID());
    const again = signInOf('ada', {}, randomUUID());
    other = signInOf('bo', {}, ada.session.deviceId);
    signIns = new SignInStore(sql, dataSource, audit, events, devices, { channelHistory: 1000 });
    await signIns.execute([ada, other], null);
    await signIns.execute([again], null);
    sql.asked.length = 0;
  });
  afterEach(() => jest.restoreAllMocks());

  const idOf = ({ session }: SignIn): string => session.userId;
  /** Of each session of a user whether it lives. */
  const living = async (of: SignIn): Promise<boolean[]> =>
    (
      await dataSource.query<{ lives: boolean }[]>(
        `SELECT signed_out_at IS NULL AND expires_at > now() AS lives FROM refresh_tokens
         WHERE user_id = $1 ORDER BY expires_at`,
        [idOf(of)],
      )
    ).map(({ lives }) => lives);
  const count = async (table: string, of: SignIn): Promise<number> =>
    (await dataSource.query<unknown[]>(`SELECT FROM ${table} WHERE user_id = $1`, [idOf(of)])).length;
  /** Both forms of a sign-in. */
  function writers(): readonly SignInStore[] {
    const retention = { auditRetentionDays: 90, auditClaims: 'full' } as const;
    const audit = createAuditStore(dataSource, sql, new Events(), retention);
    const settings = { channelHistory: 1000 };
    return [signIns, new CitusSignInStore(sql, dataSource, audit, new Events(), devices, settings)];
  }
  const TABLES = ['users', 'devices', 'channels', 'channel_events', 'authorization_codes'];
  const rowsOf = (of: SignIn) => Promise.all(TABLES.map((table) => count(table, of)));
  const codeOf = ({ provider, identity }: SignIn) =>
    codes.issue(
      { clientId: 'app', redirectUri: 'r', codeChallenge: 'c' },
      { provider, identity, requestedAt: 0 },
    );

  it.each([
    ['everywhere; no sign-in that began before is recorded', 'all', [false, false], 'signed_out'],
    ['on one device; a sign-in may be on another one', 'device', [false, true], null],
  ])('a user is signed out %s', async (_where, scope, alive, refused) => {
    const begun = [1, 2].map(() => signInOf('ada', {}, randomUUID()));
    const deviceId = scope === 'all' ? undefined : ada.session.deviceId!;
    expect(await users.signOut(idOf(ada), BACKEND, { deviceId })).toBe(scope === 'all' ? 2 : 1);
    expect([await living(ada), await living(other)]).toEqual([alive, [true]]);
    const sessions = alive.filter((lives) => !lives).length;
    expect(told).toHaveLength(sessions);
    for (const one of told) {
      const { actor } = BACKEND;
      expect(one).toMatchObject({ event: 'sign_out', user_id: idOf(ada), provider: 'corp', actor });
    }
    expect(sql.asked).not.toContain('confirm-read');
    expect(await count('devices', ada)).toBe(2);
    const results = await Promise.all(writers().map((writer, i) => writer.write(begun[i]!)));
    expect(results.map((result) => result.refused)).toEqual([refused, refused]);
    for (const writer of writers()) {
      expect((await writer.write(signInOf('ada', {}, randomUUID()))).refused).toBeNull();
    }
  });

  it('a first sign-in that began before the user was signed out is not recorded, nor is the user', async () => {
    const begun = signInOf('stranger');
    await expect(users.signOut(idOf(begun), BACKEND)).rejects.toMatchObject(NOT_FOUND);
    for (const writer of writers()) expect(await writer.write(begun)).toEqual({ refused: 'signed_out' });
    expect(await count('users', begun)).toBe(0);
    for (const writer of writers()) {
      expect((await writer.write(signInOf('stranger'))).refused).toBeNull();
    }
  });

  it('a first sign-in that was committed before it could see the sign-out ends with it', async () => {
    const begun = signInOf('stranger');
    const remember = RecentEnds.prototype.rememberUser; // oxlint-disable-line typescript/unbound-method
    jest.spyOn(RecentEnds.prototype, 'rememberUser').mockImplementationOnce(async function (
      this: RecentEnds,
      ...call
    ) {
      await remember.apply(this, call);
      await signIns.execute([begun], null);
    });
    await expect(users.signOut(idOf(begun), BACKEND)).rejects.toMatchObject(NOT_FOUND);
    expect(await living(begun)).toEqual([false]);
  });

  // The commit of a removal that was read may not be on the standby yet.
  it('nobody knows a user or a device that is not there, which is confirmed', async () => {
    const nobody = randomUUID();
    for (const [userId, deviceId] of [
      [nobody, undefined],
      [nobody, ada.session.deviceId!],
      [idOf(other), randomUUID()],
    ] as const) {
      sql.asked.length = 0;
      await expect(users.signOut(userId, BACKEND, { deviceId })).rejects.toMatchObject(NOT_FOUND);
      expect(sql.asked.at(-1)).toBe('confirm-read');
    }
    expect([told, await living(ada), await living(other)]).toEqual([[], [true, true], [true]]);
  });

  it('a user who signs in during the removal is removed with that session; others stay', async () => {
    await codeOf(ada);
    const late = signInOf('ada', {}, randomUUID());
    jest
      .spyOn(presence, 'forget')
      .mockImplementationOnce(
        async () => void (await signIns.execute([{ ...late, requestedAt: Date.now() }], null)),
      );
    await users.remove(idOf(ada), BACKEND);
    expect(await living(ada)).toEqual([false, false, false]);
    expect(await rowsOf(ada)).toEqual([0, 0, 0, 0, 0]);
    expect(await rowsOf(other)).toEqual([1, 1, 1, 1, 0]);
    expect(told.map(({ event }) => event)).toEqual([...Array<string>(3).fill('sign_out'), 'user_removed']);
  });

  it('a suspended user stays out after the removal, also in both forms of a sign-in that began before', async () => {
    const signInEach = () =>
      Promise.all(writers().map((writer) => writer.write(signInOf('ada', {}, randomUUID()))));
    await users.suspend(idOf(ada), true, BACKEND);
    let during: Promise<unknown[]> | undefined;
    // oxlint-disable-next-line typescript/unbound-method -- called with its object
    const { forget } = AuditStore.prototype;
    jest.spyOn(AuditStore.prototype, 'forget').mockImplementation(async function (this: AuditStore, ...call) {
      // The second call is in the transaction of the removal, which has the lock.
      if (call[2] !== undefined) {
        during = signInEach();
        await until(async () => (await dataSource.query<unknown[]>(WAITING)).length > 0);
      }
      return forget.apply(this, call);
    });
    await users.remove(idOf(ada), BACKEND);
    const bothSuspended = [{ refused: 'suspended' }, { refused: 'suspended' }];
    expect(await during).toEqual(bothSuspended);
    expect(await signInEach()).toEqual(bothSuspended);
    expect(await living(ada)).toEqual([false, false]);
    await expect(users.remove(idOf(ada), BACKEND)).rejects.toMatchObject(NOT_FOUND);
    expect(await users.suspend(idOf(ada), false, BACKEND)).toBe(false);
    expect(await count('users', ada)).toBe(0);
    for (const writer of writers())
      expect((await writer.write(signInOf('ada', {}, randomUUID()))).refused).toBeNull();
  });

  it('of two who remove the same user one is told, and the other one that there is none', async () => {
    jest.spyOn(presence, 'forget').mockImplementationOnce(() => users.remove(idOf(ada), BACKEND));
    await expect(users.remove(idOf(ada), BACKEND)).rejects.toMatchObject(NOT_FOUND);
    expect(sql.asked.at(-1)).toBe('confirm-read');
    expect(told.filter(({ event }) => event === 'user_removed')).toHaveLength(1);
  });
});

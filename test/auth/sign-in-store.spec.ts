import { randomBytes, randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { ENTITIES } from '../../src/entities.js';
import type { AuditEvent } from '../../src/audit/audit-event.js';
import { createAuditStore } from '../support/citus.js';
import type { AuditStore } from '../../src/audit/audit.store.js';
import { CitusSignInStore } from '../../src/citus/sign-in.store.js';
import type { SignIn } from '../../src/auth/sign-in/sign-in-columns.js';
import { SIGN_IN } from '../../src/auth/sign-in/sign-in.sql.js';
import * as steps from '../../src/citus/sign-in.sql.js';
import { SignInStore } from '../../src/auth/sign-in/sign-in.store.js';
import type { Settings } from '../../src/platform/config/settings/settings.js';
import { dataSourceOptions } from '../../src/platform/database/pool/data-source.js';
import { Sql } from '../../src/platform/database/sql.js';
import { DeviceStore } from '../../src/device/device.store.js';
import { SessionStore } from '../../src/token/sessions/session.store.js';
import { isDatabaseAway } from '../../src/platform/errors/database-error.js';
import { Events, type ChannelEvent, type RecordedEvent } from '../../src/platform/events.js';
import { parseIdentity } from '../../src/provider/identity/identity.js';
import { wordKeys } from '../../src/user/search/user-words.js';
import { createDatabase, query, unhurriedOptions } from '../support/database.js';
import { until, waiting, watchLateness } from '../support/waiting.js';
import { NO_FEATURES, signInOf } from '../support/sign-in.js';
import { use } from '../support/use.js';

const PROOF_USED = { error: 'invalid_dpop_proof', description: 'the DPoP proof was used before' };

/** Sign-ins on a database without a service: their rows, their events, and their order for one user. */
describe('the store of sign-ins', () => {
  /** Events of the audit trail that were published. */
  let started: (RecordedEvent & Partial<Pick<AuditEvent, 'reason' | 'new_device' | 'new_network'>>)[];
  let appended: ChannelEvent[];
  /** How many sign-ins each shared statement had. */
  let batches: number[];

  const database = use(() => createDatabase());
  const dataSource = use(
    () =>
      new DataSource({
        ...unhurriedOptions(dataSourceOptions(database.url, 4)),
        entities: ENTITIES,
      }).initialize(),
    (one) => one.destroy(),
  );
  beforeEach(async () => {
    [started, appended, batches] = [[], [], []];
    await dataSource.query(
      'TRUNCATE users, user_words, devices, refresh_tokens, access_tokens, channels, channel_events, audit_events',
    );
  });
  afterEach(() => {
    jest.restoreAllMocks();
    return dataSource.query('DROP FUNCTION IF EXISTS at_users CASCADE');
  });

  const auditOf = (events = new Events(), isDistributed = false): AuditStore =>
    createAuditStore(dataSource, new Sql(dataSource, isDistributed), events, {
      auditRetentionDays: 90,
      auditClaims: 'full',
    });
  function storeOf(isDistributed = false): SignInStore {
    const events = new Events();
    events.on('audit.recorded', (recorded) => void started.push(...recorded));
    events.on('channel.appended', (all) => void appended.push(...all));
    events.on('statement.batched', ({ name, calls }) => void (name === 'sign-in' && batches.push(calls)));
    const settings = { channelHistory: 1000 } as Settings;
    const Store = isDistributed ? CitusSignInStore : SignInStore;
    const sql = new Sql(dataSource, isDistributed, events);
    const devices = new DeviceStore(dataSource, sql, new SessionStore(sql, dataSource), NO_FEATURES);
    return new Store(sql, dataSource, auditOf(events, isDistributed), events, devices, settings);
  }
  const onDevice = (name: string): SignIn => signInOf(name, {}, randomUUID());
  const sessions = async (): Promise<number> =>
    (await query(database.url, 'SELECT FROM refresh_tokens')).length;
  const again = ({ accessToken }: SignIn, name: string): SignIn => signInOf(name, { accessToken });

  const rowsOf = (columns: string, userId: string): Promise<Record<string, unknown>[]> =>
    query(database.url, `SELECT ${columns} WHERE user_id = $1`, [userId]);

  /** A sign-in with all fields. */
  const whole = (name: string): SignIn =>
    signInOf(
      name,
      {
        identity: parseIdentity({
          provider_user_id: name,
          username: `${name} of Lovelace`,
          email: `${name}@example.org`,
          avatar_url: `https://example.org/${name}.png`,
          auth_time: 1_700_000_000,
        }),
        providerSubject: randomBytes(32),
        providerSession: randomBytes(32),
        deviceName: `Laptop of ${name}`,
        userAgent: `Browser of ${name}`,
        origin: { address: '192.0.2.7', userAgent: 'curl', requestId: randomUUID(), actor: { type: 'user' } },
        jkt: randomBytes(32),
        refreshTokenTtl: 86_400,
      },
      randomUUID(),
    );

  async function expectWritten(signIn: SignIn): Promise<void> {
    const { session, identity, accessToken, deviceName, userAgent, origin } = signIn;
    const { userId, sessionId, deviceId } = session;
    const user = 'provider, provider_user_id, username, email, avatar_url, email_key FROM users';
    const { address } = origin;
    expect(await rowsOf(user, userId)).toEqual([
      {
        provider: 'corp',
        provider_user_id: identity.providerUserId,
        username: identity.username,
        email: identity.email,
        avatar_url: identity.avatarUrl,
        email_key: identity.email?.toLowerCase() ?? null,
      },
    ]);
    const words = await rowsOf('word FROM user_words', userId);
    expect(new Set(words.map(({ word }) => word))).toEqual(
      new Set(wordKeys(identity.username, identity.email)),
    );
    const device = { device_id: deviceId, device_name: deviceName, user_agent: userAgent, address };
    expect(await rowsOf('device_id, device_name, user_agent, address FROM devices', userId)).toEqual(
      deviceId === null ? [] : [device],
    );
    const refreshToken = `session_id, device_id, token_hash, jkt, provider_subject, provider_session, signed_out_at,
      address, user_agent, extract(epoch FROM auth_time)::int AS auth_time, extract(epoch FROM expires_at - now())::int AS left FROM refresh_tokens`;
    const [{ left, ...token }] = (await rowsOf(refreshToken, userId)) as [{ left: number }];
    expect(token).toEqual({
      session_id: sessionId,
      device_id: deviceId,
      token_hash: signIn.refreshTokenHash,
      jkt: signIn.jkt,
      provider_subject: signIn.providerSubject,
      provider_session: signIn.providerSession,
      signed_out_at: null,
      address,
      user_agent: userAgent,
      auth_time: identity.authTime,
    });
    expect(Math.abs(left - signIn.refreshTokenTtl)).toBeLessThan(60);
    const { jti, token: text, expiresAt } = accessToken;
    expect(await rowsOf('session_id, jti, token, expires_at FROM access_tokens', userId)).toEqual([
      { session_id: sessionId, jti, token: text, expires_at: new Date(expiresAt * 1000) },
    ]);
    expect(await rowsOf('* FROM audit_events', userId)).toEqual([
      {
        user_id: userId,
        at: expect.any(Date),
        id: expect.any(String),
        event: 'sign_in',
        result: 'ok',
        error: null,
        reason: 'first sign-in',
        session_id: sessionId,
        device_id: deviceId,
        provider: 'corp',
        provider_user_id: identity.providerUserId,
        address,
        user_agent: userAgent,
        actor_type: 'user',
        actor_name: null,
        request_id: origin.requestId,
        new_device: deviceId === null ? null : true,
        new_network: address === null ? null : true,
        changes: null,
        former_user_id: null,
      },
    ]);
  }

  it.each([['SIGN_IN', SIGN_IN.text], ...Object.entries(steps)])(
    '%s can be prepared on the migrated schema',
    async (_name, text) => {
      const client = new Client(database.url);
      await client.connect();
      try {
        await expect(client.query(`PREPARE it AS ${text}`)).resolves.toMatchObject({ command: 'PREPARE' });
      } finally {
        await client.end();
      }
    },
  );

  it('without an audit trail, the event of a sign-in is published and not stored', async () => {
    const events = new Events();
    events.on('audit.recorded', (recorded) => void started.push(...recorded));
    const sql = new Sql(dataSource, false, events);
    const audit = createAuditStore(dataSource, sql, events, { auditRetentionDays: 0, auditClaims: 'full' });
    const store = new SignInStore(
      sql,
      dataSource,
      audit,
      events,
      new DeviceStore(dataSource, sql, new SessionStore(sql, dataSource), NO_FEATURES),
      { channelHistory: 1000 },
    );
    expect(await store.record(onDevice('ada'))).toBeDefined();
    expect(started).toMatchObject([{ event: 'sign_in', result: 'ok' }]);
    for (const name of ['new_device', 'new_network']) expect(started[0]).not.toHaveProperty(name);
    expect(await query(database.url, 'SELECT FROM audit_events')).toEqual([]);
    expect(await sessions()).toBe(1);
  });

  const BOUNDS: [what: string, most: number][] = [
    ['sessions', 10_000],
    ['devices', 2000],
  ];
  /** Gives a user the most sessions, with a device each if devices are meant. */
  const fill = (userId: string, what: string, most: number): Promise<unknown> =>
    query(
      database.url,
      `WITH ids AS MATERIALIZED (
         SELECT ${what === 'devices' ? 'gen_random_uuid()' : 'NULL::uuid'} AS device_id FROM generate_series(2, $2::int)),
         known AS (INSERT INTO devices (user_id, device_id) SELECT $1, device_id FROM ids WHERE device_id IS NOT NULL)
       INSERT INTO refresh_tokens (user_id, session_id, device_id, token_hash, expires_at)
       SELECT $1, gen_random_uuid(), device_id, '', now() + interval '1 day' FROM ids`,
      [userId, most],
    );

  describe.each([
    ['batched', false],
    ['stepwise, as on Citus', true],
  ])('a sign-in that is written %s', (_form, isDistributed) => {
    it('stores all fields of the provider and the client, and nothing else', async () => {
      const all = [whole('ada'), signInOf('bo'), whole('cleo')];
      const store = storeOf(isDistributed);
      await Promise.all(all.map((signIn) => store.record(signIn)));
      for (const signIn of all) await expectWritten(signIn);
      expect(batches).toEqual(isDistributed ? [] : [3]);
    });

    // `device.signed_in`, to all devices, for a day (docs/realtime.md#what-the-service-sends).
    it('reports the session, and the event on the channel if a device is named', async () => {
      const [ada, bo] = [whole('ada'), signInOf('bo')];
      const store = storeOf(isDistributed);
      await store.record(ada);
      await store.record(bo);
      expect(started).toEqual(
        [ada, bo].map(({ session, identity, userAgent, origin }) => ({
          id: expect.any(String),
          event: 'sign_in',
          result: 'ok',
          reason: 'first sign-in',
          user_id: session.userId,
          session_id: session.sessionId,
          ...(session.deviceId !== null && { device_id: session.deviceId, new_device: true }),
          ...(origin.address !== null && { new_network: true }),
          provider: 'corp',
          provider_user_id: identity.providerUserId,
          ...(origin.address !== null && { address: origin.address, user_agent: userAgent }),
          ...(origin.requestId !== null && { request_id: origin.requestId }),
          actor: { type: 'user', name: session.userId },
        })),
      );
      const [{ left, ...stored }] = (await query(
        database.url,
        'SELECT *, extract(epoch FROM expires_at - now())::int AS left FROM channel_events',
      )) as [Record<string, unknown>];
      expect(stored).toMatchObject({ user_id: ada.session.userId, event_offset: '1', device_id: null });
      expect(Math.abs(Number(left) - 86_400)).toBeLessThan(60);
      const data = {
        device_id: ada.session.deviceId,
        device_name: ada.deviceName,
        user_agent: ada.userAgent,
        created_at: expect.any(String),
        last_seen_at: expect.any(String),
      };
      expect(JSON.parse(stored['data'] as string)).toEqual(data);
      expect(appended).toEqual([
        {
          id: stored['id'],
          userId: ada.session.userId,
          deviceId: null,
          offset: 1,
          event: 'device.signed_in',
          data,
          sentAt: (stored['sent_at'] as Date).toISOString(),
        },
      ]);
    });

    // docs/audit.md#new-devices-and-networks
    it('says whether device and network are new to the user, in the trail and as it is published', async () => {
      const store = storeOf(isDistributed);
      const [laptop, phone] = [randomUUID(), randomUUID()];
      const record = async (name: string, deviceId: string | null, address: string | null) => {
        const origin = { address, userAgent: null, requestId: null, actor: { type: 'user' } } as const;
        const signIn = signInOf(name, { origin }, deviceId);
        await store.record(signIn);
        const { sessionId } = signIn.session;
        const columns = 'reason, new_device, new_network FROM audit_events WHERE session_id = $1';
        const [row] = await query(database.url, `SELECT ${columns}`, [sessionId]);
        const { reason = null, new_device = null, new_network = null } = started.at(-1)!;
        expect(row).toEqual({ reason, new_device, new_network });
        return Object.values(row!);
      };
      const FIRST = 'first sign-in';
      for (const [name, device, address, ...expected] of [
        ['ada', laptop, '192.0.2.7', FIRST, true, true],
        ['ada', laptop, '192.0.2.7', null, false, false],
        ['ada', phone, '192.0.2.254', null, true, false],
        ['ada', phone, '192.0.3.7', null, false, true],
        ['ada', null, '192.0.3.0/24', null, null, false], // as `AUDIT_ADDRESSES=network` stores it
        ['ada', laptop, null, null, false, null],
        ['ada', null, '2001:db8:1::7', null, null, true],
        ['ada', null, '2001:db8:1:ffff::8', null, null, false],
        ['ada', null, '2001:db8:1::/48', null, null, false],
        ['ada', null, '2001:db8:2::7', null, null, true],
        ['bo', laptop, '192.0.2.7', FIRST, true, true], // another user's
        ['bo', null, null, null, null, null],
      ] as const) {
        expect([name, device, address, ...(await record(name, device, address))]).toEqual([
          name,
          device,
          address,
          ...expected,
        ]);
      }
      // Beyond the retention: a device by its last use, a network by its last sign-in.
      await query(database.url, `UPDATE devices SET last_seen_at = now() - interval '91 days'`);
      await query(database.url, `DELETE FROM audit_events WHERE address LIKE '192.0.2.%'`);
      expect(await record('ada', laptop, '192.0.2.7')).toEqual([null, true, true]);
    });

    it('of two at once from one new network, at least one says so', async () => {
      await storeOf(isDistributed).record(signInOf('ada'));
      const origin = {
        address: '192.0.2.7',
        userAgent: null,
        requestId: null,
        actor: { type: 'user' },
      } as const;
      const stores = Array.from({ length: 3 }, () => storeOf(isDistributed)); // instances
      const device = randomUUID();
      await Promise.all(stores.map((store) => store.record(signInOf('ada', { origin }, device))));
      const last = started.slice(1);
      expect(last).toHaveLength(3);
      expect(last.filter((event) => event.new_network)).not.toEqual([]);
      expect(last.filter((event) => event.new_device)).not.toEqual([]);
      await stores[0]!.record(signInOf('ada', { origin }, device));
      expect(started.at(-1)).toMatchObject({ new_device: false, new_network: false });
    });

    it('again: the last values of the provider count, those that a client omits stay, offsets continue', async () => {
      const first = whole('ada');
      const { userId } = first.session;
      const second = signInOf('ada', { session: { ...first.session, sessionId: randomUUID() } });
      const store = storeOf(isDistributed);
      await store.record(first);
      await store.record(second);
      expect(await rowsOf('username, email, avatar_url FROM users', userId)).toEqual([
        { username: null, email: null, avatar_url: null },
      ]);
      expect(await rowsOf('word FROM user_words', userId)).toEqual([]);
      const named = { device_name: first.deviceName, user_agent: first.userAgent };
      expect(await rowsOf('device_name, user_agent FROM devices', userId)).toEqual([named]);
      expect(appended[1]).toMatchObject({ offset: 2, data: named });
      expect(await sessions()).toBe(2);
    });

    // RFC 9449 §11.1: a proof is good once; its access token has the name that it gives.
    it('makes the claims those of a new user, and writes nothing if those of the user are not the token’s', async () => {
      const store = storeOf(isDistributed);
      const claims = { version: 7, provider: { plan: 1 }, application: {}, effective: { plan: 1 } };
      const ada = signInOf('ada', { claims });
      expect(await store.record(ada)).toBeDefined();
      const columns =
        'provider_claims, application_claims, claims, claims_version, claims_changed_at FROM users';
      const user = { provider_claims: { plan: 1 }, application_claims: null, claims: { plan: 1 } };
      const written = [{ ...user, claims_version: '7', claims_changed_at: null }];
      expect(await rowsOf(columns, ada.session.userId)).toEqual(written);
      expect(await store.record(signInOf('ada'))).toBeUndefined(); // without claims, as an instance expects that knows none
      expect(await store.record(signInOf('ada', { claims: { ...claims, version: 6 } }))).toBeUndefined();
      expect([await sessions(), started.length]).toEqual([1, 1]);
      expect(await store.record(signInOf('ada', { claims }))).toBeDefined();
      expect(await rowsOf(columns, ada.session.userId)).toEqual(written);
      const ofApplication = { ...claims, application: { plan: 1 } }; // the version may be equal by chance
      expect(await store.record(signInOf('ada', { claims: ofApplication }))).toBeUndefined();
      const ofRemoved = { ...claims, application: { roles: ['admin'] } };
      expect(await store.record(signInOf('bob', { claims: ofRemoved }))).toBeUndefined();
      expect(await sessions()).toBe(2);
    });

    it('is the first one of a user whom POST /users has created', async () => {
      const store = storeOf(isDistributed);
      const [ada, bo] = [whole('ada'), whole('bo')];
      await store.record(ada);
      await store.record(bo);
      await query(database.url, `UPDATE users SET last_seen_at = NULL WHERE provider_user_id = 'ada'`);
      await query(database.url, `UPDATE users SET last_seen_at = 'epoch' WHERE provider_user_id = 'bo'`);
      await store.record(whole('ada'));
      await store.record(whole('bo'));
      const seen = `last_seen_at > now() - interval '1 hour' AS seen FROM users`;
      expect(await rowsOf(seen, ada.session.userId)).toEqual([{ seen: true }]);
      expect(await rowsOf(seen, bo.session.userId)).toEqual([{ seen: false }]); // by LastUseWriter
    });

    it('is refused, and not reported, if its proof was used before by the same user', async () => {
      const store = storeOf(isDistributed);
      const ada = onDevice('ada');
      await store.record(ada);
      [started, appended] = [[], []];
      await expect(store.record(again(ada, 'ada'))).rejects.toMatchObject(PROOF_USED);
      expect([started, appended, await sessions()]).toEqual([[], [], 1]);
      await store.record(again(ada, 'bo'));
      expect(started).toHaveLength(1);
    });

    it('of a suspended user is refused, and writes nothing', async () => {
      const store = storeOf(isDistributed);
      const ada = whole('ada');
      await store.record(ada);
      await query(database.url, 'UPDATE users SET suspended_at = now()');
      const renamed = { ...ada.identity, username: 'New name' };
      const later = { ...whole('ada'), identity: renamed };
      const refused = { error: 'access_denied', reason: 'suspended' };
      await expect(store.record(later)).rejects.toMatchObject(refused);
      await expect(store.record({ ...later, claims: { ...later.claims, version: 9 } })).rejects.toMatchObject(
        refused,
      );
      expect(started).toHaveLength(1);
      await expectWritten(ada);
      await query(database.url, 'UPDATE users SET suspended_at = NULL');
      expect(await store.record(later)).toBeDefined();
    });

    // docs/security.md#database
    it.each(BOUNDS)('beyond the most %s of a user is refused, and writes nothing', async (what, most) => {
      const store = storeOf(isDistributed);
      const ada = whole('ada');
      await store.record(ada);
      const { userId } = ada.session;
      await fill(userId, what, most);
      const renamed = { ...ada.identity, username: 'New name' };
      const error = { error: 'slow_down', description: expect.stringContaining(`too many ${what}`) };
      await expect(store.record({ ...whole('ada'), identity: renamed })).rejects.toMatchObject(error);
      expect(await rowsOf('username FROM users', userId)).toEqual([{ username: ada.identity.username }]);
      expect([await sessions(), started.length]).toEqual([most, 1]);
      if (what === 'devices') return;
      const one = 'ctid IN (SELECT ctid FROM refresh_tokens LIMIT 1)';
      await query(database.url, `UPDATE refresh_tokens SET idle_ends_at = now() WHERE ${one}`);
      expect(await store.record(whole('ada'))).toBeDefined();
    });

    it.each(BOUNDS)('makes a new user, if one with the most %s is removed meanwhile', async (what, most) => {
      const store = storeOf(isDistributed);
      const ada = onDevice('ada');
      const { userId } = ada.session;
      await store.record(ada);
      await fill(userId, what, most);
      const later = onDevice('ada');
      await whileHeld(userId, async (holder) => {
        for (const table of ['devices', 'refresh_tokens', 'access_tokens', 'audit_events', 'users'])
          await holder.query(`DELETE FROM ${table} WHERE user_id = $1`, [userId]);
        const recorded = store.record(later);
        await until(() => isDistributed || batches.length === 2); // its batch met the lock
        expect(await waiting(database.url, 1, recorded)).toBe(true);
        await holder.query('COMMIT');
        expect(await recorded).toBeDefined();
      });
      await expectWritten(later);
    });

    it('fails as the database does, and is not reported', async () => {
      await atUsers(`RAISE EXCEPTION USING ERRCODE = '23514';`);
      await expect(storeOf(isDistributed).record(signInOf('mallory'))).rejects.toMatchObject({
        code: '23514',
      });
      expect([started, await sessions()]).toEqual([[], 0]);
    });
  });

  /** What the database does at each statement that stores users; `n` is how many. */
  const atUsers = (plpgsql: string): Promise<unknown> =>
    query(
      database.url,
      `CREATE FUNCTION at_users() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE n int; BEGIN
         SELECT count(*) INTO n FROM inserted; ${plpgsql} RETURN NULL; END $$;
       CREATE TRIGGER at_users AFTER INSERT ON users REFERENCING NEW TABLE AS inserted
         FOR EACH STATEMENT EXECUTE FUNCTION at_users()`,
    );

  /** Otherwise each user would stay in memory. */
  const expectForgotten = (store: SignInStore): void =>
    expect(Reflect.get(store, 'queue')).toMatchObject({ last: new Map() });

  // serialization_failure, deadlock_detected, lock_not_available
  it.each(['40001', '40P01', '55P03'])('are written singly after a lock conflict: %s', async (code) => {
    await atUsers(`IF n > 1 THEN RAISE EXCEPTION USING ERRCODE = '${code}'; END IF;`);
    const store = storeOf();
    await Promise.all(['ada', 'bo', 'cleo'].map((name) => store.record(signInOf(name))));
    expect([started.length, batches]).toEqual([3, [3]]);
    expectForgotten(store);
  });

  /** Calls `work` while a transaction holds the lock of a user's rows in `table`. */
  async function whileHeld(userId: string, work: (holder: Client) => Promise<void>, table = 'users') {
    const holder = new Client(database.url);
    await holder.connect();
    try {
      await holder.query('BEGIN');
      await holder.query(`SELECT FROM ${table} WHERE user_id = $1 FOR UPDATE`, [userId]);
      await work(holder);
    } finally {
      await holder.end();
    }
  }

  // docs/security.md#database
  it.each([
    [1000, 'fulfilled'],
    [1001, 'rejected'],
  ])('after %s ms of waiting for sign-ins of the same user: %s', async (ms, status) => {
    const store = storeOf();
    await store.record(signInOf('ada'));
    await whileHeld(signInOf('ada').session.userId, async (holder) => {
      const clock = jest.spyOn(performance, 'now').mockReturnValue(0);
      const all = Promise.allSettled([store.record(signInOf('ada')), store.record(signInOf('ada'))]);
      await until(() => batches.length === 2); // each batch met the lock
      expect(await waiting(database.url, 1, all)).toBe(true);
      clock.mockReturnValue(ms);
      await holder.query('COMMIT');
      const [first, second] = await all;
      expect([first.status, second.status]).toEqual(['fulfilled', status]);
      if (second.status === 'rejected')
        expect(second.reason).toMatchObject({
          code: '53000',
          message: expect.stringContaining('too many sign-ins of one user'),
        });
      expect(await sessions()).toBe(status === 'fulfilled' ? 3 : 2);
    });
    expectForgotten(store);
  });

  const recordAll = (store: SignInStore, signIns: SignIn[]) =>
    Promise.allSettled(signIns.map((signIn) => store.record(signIn)));

  it('a batched sign-in that the database rejects fails alone, and leaves nothing', async () => {
    await atUsers(`IF EXISTS (SELECT FROM inserted WHERE provider_user_id = 'mallory') THEN
      RAISE EXCEPTION USING ERRCODE = '23514'; END IF;`);
    const [ada, mallory, cleo] = ['ada', 'mallory', 'cleo'].map(whole) as [SignIn, SignIn, SignIn];
    const results = await recordAll(storeOf(), [ada, mallory, cleo]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect([batches[0], appended.length, await sessions()]).toEqual([3, 2, 2]);
    await expectWritten(ada);
    await expectWritten(cleo);
    expect(await rowsOf('user_id FROM users', mallory.session.userId)).toEqual([]);
  });

  it.each([
    ['before', true],
    ['by two of them', false],
  ])('a proof that was used %s is refused alone', async (_when, isBefore) => {
    const store = storeOf();
    const ada = onDevice('ada');
    if (isBefore) await store.record(ada);
    const results = await recordAll(store, [again(ada, 'ada'), again(ada, 'bo'), again(ada, 'ada')]);
    const refused = results.map((one) => one.status === 'rejected' && (one.reason as object));
    const used = expect.objectContaining(PROOF_USED);
    expect(refused).toEqual([isBefore && used, false, used]);
  });

  it('several sign-ins of one user are all recorded, the first one first', async () => {
    const phone = randomUUID();
    const first = signInOf('ada', { deviceName: 'Phone' }, phone);
    const { userId } = first.session;
    const second = signInOf('ada', { userAgent: 'Browser' }, phone);
    const results = await recordAll(storeOf(), [
      first,
      second,
      signInOf('bo', {}, phone),
      onDevice('ada'),
      signInOf('ada'),
    ]);
    expect(results.map(({ status }) => status)).toEqual(Array(5).fill('fulfilled'));
    expect(batches).toEqual([5]);
    expect(await rowsOf('device_id FROM devices', userId)).toHaveLength(2);
    expect(await rowsOf('session_id FROM refresh_tokens', userId)).toHaveLength(4);
    const mine = appended.filter((event) => event.userId === userId);
    expect(mine).toHaveLength(3);
    expect(new Set(mine.map(({ offset }) => offset))).toEqual(new Set([1, 2, 3]));
    const data = expect.objectContaining({ device_name: 'Phone', user_agent: null });
    expect(mine.find(({ offset }) => offset === 1)).toMatchObject({ data });
  });

  it('many sign-ins of one user take no connections from other users', async () => {
    const store = storeOf();
    const ada = signInOf('ada');
    await store.record(ada);
    await whileHeld(ada.session.userId, async (holder) => {
      const flood = recordAll(
        store,
        Array.from({ length: 40 }, () => signInOf('ada')),
      );
      await until(() => batches.includes(40)); // the batch met the lock
      expect(await waiting(database.url, 1, flood)).toBe(true);
      const lateness = watchLateness();
      const began = performance.now();
      await store.record(onDevice('bo'));
      expect(performance.now() - began).toBeLessThan(700 + 10 * lateness()); // not only after the flood has timed out
      await holder.query('COMMIT');
      const refused = (await flood).flatMap((one) =>
        one.status === 'rejected' ? [one.reason as Error] : [],
      );
      expect(refused.filter((error) => !isDatabaseAway(error))).toEqual([]); // of a machine that is too busy
    });
    await store.record(signInOf('ada'));
    expectForgotten(store);
  });

  it.each([
    [
      'whose commit is not confirmed by the standby',
      `RAISE WARNING 'canceling wait for synchronous replication';`,
    ],
    ['whose connection is lost', 'PERFORM pg_terminate_backend(pg_backend_pid());'],
  ])('no sign-in is acknowledged, or tried again, of a statement %s', async (_what, plpgsql) => {
    await atUsers(plpgsql);
    const results = await recordAll(
      storeOf(),
      ['ada', 'bo', 'cleo'].map((name) => signInOf(name)),
    );
    const isAway = results.map((one) => one.status === 'rejected' && isDatabaseAway(one.reason));
    expect(isAway).toEqual([true, true, true]);
    expect([batches, appended]).toEqual([[3], []]);
  });

  it.each([
    [1200, 200],
    [6000, 2501],
  ])('trims histories at every hundredth event, a long one in steps: %s events', async (last, first) => {
    const some = ['ada', 'bo', 'cleo', 'dora'].map(onDevice);
    const ids = some.map(({ session }) => session.userId);
    await dataSource.query('INSERT INTO channels (user_id, last_offset) SELECT unnest($1::uuid[]), $2', [
      ids,
      last - 1,
    ]);
    await dataSource.query(
      `INSERT INTO channel_events (user_id, event_offset, id, event, data, sent_at, expires_at)
       SELECT u, n, gen_random_uuid(), 'news', '1', now(), now() + interval '1 day'
       FROM unnest($1::uuid[]) u, generate_series(1, $2::int - 1) n`,
      [ids, last],
    );
    await recordAll(storeOf(), some);
    expect(batches).toEqual([some.length]);
    const kept = await query(
      database.url,
      `SELECT DISTINCT min(event_offset)::int AS first, max(event_offset)::int AS last
       FROM channel_events GROUP BY user_id`,
    );
    expect(kept).toEqual([{ first, last }]);
  });

  // Transactions that lock in one order cannot deadlock.
  const ORDER = ['users', 'devices', 'channels'];
  it.each(ORDER)('locks %s in the order of their keys, and all before what comes later', async (table) => {
    const deviceId = randomUUID();
    const store = storeOf();
    const some = ['ada', 'bo', 'cleo', 'dora'].map((name) => signInOf(name, {}, deviceId));
    for (const signIn of some) await store.record(signIn);
    const inOrder = some.map(({ session }) => session.userId).toSorted();
    const later = inOrder.toReversed().map((userId) => {
      const { session, identity } = some.find((signIn) => signIn.session.userId === userId)!;
      return signInOf(identity.providerUserId, { session: { ...session, sessionId: randomUUID() } });
    });
    await whileHeld(
      inOrder[1]!,
      async (holder) => {
        const recorded = store.execute(later, null);
        expect(await waiting(database.url, 1, recorded)).toBe(true);
        for (const next of ORDER.slice(ORDER.indexOf(table))) {
          const free = await holder.query<{ user_id: string }>(
            `SELECT user_id FROM ${next} ORDER BY user_id FOR UPDATE SKIP LOCKED`,
          );
          const expected = next === table ? inOrder.slice(1) : inOrder;
          expect(free.rows.map(({ user_id }) => user_id)).toEqual(expected);
        }
        await holder.query('COMMIT');
        expect((await recorded).length).toBe(some.length);
      },
      table,
    );
  });
});

import { randomBytes, randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { signInInSteps } from '../../src/auth/sign-in/sign-in-in-steps.js';
import { signInTogether } from '../../src/auth/sign-in/sign-in-together.js';
import type { SignIn } from '../../src/auth/sign-in/sign-in.js';
import { dataSourceOptions } from '../../src/database/pool/data-source.js';
import { Sql } from '../../src/database/statements/sql.js';
import { parseIdentity } from '../../src/provider/identity/identity.js';
import { createDatabase, type TestDatabase, unhurriedOptions } from '../support/database.js';
import { signInOf } from '../support/written-sign-in.js';

/** What sign-ins leave in the database, without a service: in one statement, and in the steps that are taken on Citus. */
describe.each([
  ['in one statement', false],
  ['in steps', true],
])('sign-ins that are written %s', (_form, inSteps) => {
  let database: TestDatabase;
  let dataSource: DataSource;
  beforeEach(async () => {
    database = await createDatabase();
    dataSource = await new DataSource(unhurriedOptions(dataSourceOptions(database.url, 2))).initialize();
  });
  afterEach(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  const rowsOf = (table: string, columns: string, userId: string): Promise<Record<string, unknown>[]> =>
    dataSource.query(`SELECT ${columns} FROM ${table} WHERE user_id = $1`, [userId]);
  const secondsTo = (column: string): string => `extract(epoch FROM ${column} - now())::float8 AS left`;

  /** @returns the event of each, if it has one */
  async function write(...signIns: SignIn[]): Promise<unknown[]> {
    if (!inSteps) {
      const events = await signInTogether(new Sql(dataSource), signIns, 1000, '50ms');
      return signIns.map(({ session }) => events.get(session.userId));
    }
    const written = [];
    for (const signIn of signIns) {
      const id = randomUUID();
      const event = await dataSource.transaction((manager) => signInInSteps(manager, signIn, id, 1000));
      written.push(event && { id, ...event });
    }
    return written;
  }

  /** One who says all that can be said. */
  const whole = (name: string): SignIn =>
    signInOf(
      name,
      {
        identity: parseIdentity({
          provider_user_id: name,
          username: `${name} of Lovelace`,
          email: `${name}@example.org`,
          avatar_url: `https://example.org/${name}.png`,
        }),
        providerSubject: randomBytes(32),
        providerSession: randomBytes(32),
        deviceName: `Laptop of ${name}`,
        userAgent: `Browser of ${name}`,
        jkt: randomBytes(32),
        refreshTokenTtl: 86_400,
      },
      randomUUID(),
    );

  async function expectWritten(signIn: SignIn): Promise<void> {
    const { session, identity, accessToken, deviceName, userAgent } = signIn;
    const { userId, sessionId, deviceId } = session;
    expect(await rowsOf('users', 'provider, provider_user_id, username, email, avatar_url', userId)).toEqual([
      {
        provider: 'corp',
        provider_user_id: identity.providerUserId,
        username: identity.username,
        email: identity.email,
        avatar_url: identity.avatarUrl,
      },
    ]);
    const device = 'device_id, device_name, user_agent';
    expect(await rowsOf('devices', device, userId)).toEqual(
      deviceId === null ? [] : [{ device_id: deviceId, device_name: deviceName, user_agent: userAgent }],
    );
    const refreshToken = `session_id, device_id, token_hash, jkt, provider_subject, provider_session, signed_out_at,
      ${secondsTo('expires_at')}`;
    const [{ left, ...token }] = (await rowsOf('refresh_tokens', refreshToken, userId)) as [{ left: number }];
    expect(token).toEqual({
      session_id: sessionId,
      device_id: deviceId,
      token_hash: signIn.refreshTokenHash,
      jkt: signIn.jkt,
      provider_subject: signIn.providerSubject,
      provider_session: signIn.providerSession,
      signed_out_at: null,
    });
    expect(left).toBeGreaterThan(signIn.refreshTokenTtl - 60);
    expect(left).toBeLessThanOrEqual(signIn.refreshTokenTtl);
    expect(await rowsOf('access_tokens', 'session_id, jti, token, expires_at', userId)).toEqual([
      {
        session_id: sessionId,
        jti: accessToken.jti,
        token: accessToken.token,
        expires_at: new Date(accessToken.expiresAt * 1000),
      },
    ]);
  }

  it('keep whatever a provider and a client have said', async () => {
    const all = ['ada', 'bo', 'cleo'].map(whole);
    await write(...all);
    for (const signIn of all) await expectWritten(signIn);
  });

  it('keep nothing that nobody has said, and tell of no device', async () => {
    const signIn = signInOf('ada');
    expect(await write(signIn)).toEqual([undefined]);
    await expectWritten(signIn);
    expect(await rowsOf('channel_events', 'event', signIn.session.userId)).toEqual([]);
  });

  // Contract §7: `device.signed_in`, to all devices, for a day.
  it('are told on the channel of each user, where a device is named', async () => {
    const all = [whole('ada'), signInOf('bo'), whole('cleo')];
    const events = (await write(...all)) as {
      id: string;
      event_offset: string;
      data: string;
      sent_at: Date;
    }[];
    expect(events[1]).toBeUndefined();
    for (const i of [0, 2]) {
      const { session, deviceName, userAgent } = all[i]!;
      const columns = `id, event_offset, event, data, device_id, sent_at, ${secondsTo('expires_at')}`;
      const [{ left, ...stored }] = (await rowsOf('channel_events', columns, session.userId)) as [
        { left: number },
      ];
      const { data } = events[i]!;
      expect(stored).toEqual({ ...events[i], event_offset: '1', event: 'device.signed_in', device_id: null });
      expect(JSON.parse(data)).toEqual({
        device_id: session.deviceId,
        device_name: deviceName,
        user_agent: userAgent,
        created_at: expect.any(String),
        last_seen_at: expect.any(String),
      });
      expect(left).toBeGreaterThan(86_400 - 60);
      expect(left).toBeLessThanOrEqual(86_400);
    }
  });

  it('come again: the provider’s last word counts, what a client leaves out is kept, and offsets go on', async () => {
    const first = whole('ada');
    const { session } = first;
    const again = { ...signInOf('ada'), session: { ...session, sessionId: randomUUID() } };
    await write(first);
    const [event] = (await write(again)) as [{ event_offset: string; data: string }];
    expect(await rowsOf('users', 'username, email, avatar_url', session.userId)).toEqual([
      { username: null, email: null, avatar_url: null },
    ]);
    const named = { device_name: first.deviceName, user_agent: first.userAgent };
    expect(await rowsOf('devices', 'device_name, user_agent', session.userId)).toEqual([named]);
    expect(event.event_offset).toBe('2');
    expect(JSON.parse(event.data)).toMatchObject(named);
    expect(await rowsOf('refresh_tokens', 'session_id', session.userId)).toHaveLength(2);
  });

  it('by a statement that is planned once for each connection', async () => {
    await write(whole('ada'));
    const kept = await dataSource.query<{ name: string }[]>('SELECT name FROM pg_prepared_statements');
    expect(kept).toEqual(inSteps ? [] : [{ name: 'sign-in' }]);
  });
});

import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import request, { type Response } from 'supertest';
import { BackchannelLogout } from '../../src/features/provider-events/effect/backchannel-logout.service.js';
import { ChannelHistory } from '../../src/channel/channel.history.js';
import { DatabaseBusy } from '../../src/platform/database/limits.js';
import { LastUseWriter } from '../../src/device/last-use-writer.js';
import { Events } from '../../src/platform/events.js';
import { hashOfName } from '../../src/token/sessions/recent-ends.js';
import { ProviderTokens } from '../../src/features/provider-events/verify/provider-tokens.js';
import { providerEnv } from '../provider-events/transmitter.js';
import { NOWHERE } from '../support/audit.js';
import { bearer, beginSignIn, signIn, type Tokens } from '../support/sign-in.js';
import { createDatabase, type TestDatabase, query, unhurried } from '../support/database.js';
import { Endings } from '../support/endings.js';
import { SERVICE_KEY, startTestService, type TestService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { StockClient } from '../support/stock-client.js';
import { until as becomes } from '../support/waiting.js';
import { StubProvider } from '../support/stub-provider.js';
import pg from 'pg';
import { nodesOf, rowsRead, type PlanNode } from './plan.js';

/** A statement as it was run, and its plan. */
interface RunStatement {
  readonly text: string;
  readonly milliseconds: number;
  /** The tables that it read as a whole. */
  readonly scanned: readonly string[];
  /** Rows that the busiest node of the plan has looked at, in all its loops. */
  readonly rows: number;
}

/**
 * Makes PostgreSQL report the plan of each statement of a database, with the rows that it had (auto_explain, part of PostgreSQL).
 * @returns the statements of connections that the service opens from now on
 */
async function reportPlans(
  databaseUrl: string,
): Promise<{ readonly statements: RunStatement[]; readonly stop: () => void }> {
  const name = new URL(databaseUrl).pathname.slice(1);
  const settings = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_format': 'json',
    'auto_explain.log_level': 'notice', // sent to the client
    'auto_explain.log_parameter_max_length': '0',
  };
  for (const [setting, value] of Object.entries(settings))
    await query(databaseUrl, `ALTER DATABASE ${name} SET ${setting} = '${value}'`);
  const statements: RunStatement[] = [];
  const { prototype } = pg.Client;
  const connect = Object.getOwnPropertyDescriptor(prototype, 'connect')!.value as (
    ...args: unknown[]
  ) => unknown;
  prototype.connect = function (this: pg.Client, ...args: unknown[]) {
    if (this.constructor === pg.Client) return connect.apply(this, args); // a test's own
    this.on('notice', ({ message = '' }) => {
      const [, milliseconds, json] = /^duration: ([\d.]+) ms {2}plan:\s+(\{.*)$/s.exec(message) ?? [];
      if (json !== undefined)
        statements.push(statementOf(Number(milliseconds), JSON.parse(json) as Explained));
    });
    return connect.apply(this, args);
  } as typeof prototype.connect;
  return { statements, stop: () => void (prototype.connect = connect as typeof prototype.connect) };
}

interface Explained {
  readonly 'Query Text': string;
  readonly Plan: PlanNode;
}

function statementOf(milliseconds: number, { 'Query Text': text, Plan }: Explained): RunStatement {
  const nodes = nodesOf(Plan);
  return {
    text,
    milliseconds,
    scanned: nodes.flatMap((node) => (node['Node Type'] === 'Seq Scan' ? [node['Relation Name']!] : [])),
    rows: Math.max(...nodes.map(rowsRead)),
  };
}

const SESSIONS = 10_000;
const DEVICES = 2000;
const EVENTS = 1000;
const OTHERS = 50_000;

/** Tables with a row or more for each user, device, session or event. */
const LARGE = [
  'users',
  'devices',
  'refresh_tokens',
  'access_tokens',
  'channels',
  'channel_events',
  'presence',
  'logout_tokens',
  'authorization_codes',
];
/** What a statement for this user may look at: each of their rows a few times, never each for each. */
const MOST_ROWS = 4 * SESSIONS;

const SEED = [
  `INSERT INTO users (user_id, provider, provider_user_id)
   SELECT gen_random_uuid(), 'stub', 'other ' || i FROM generate_series(1, ${OTHERS}) i`,
  `INSERT INTO devices (user_id, device_id) SELECT user_id, gen_random_uuid() FROM users`,
  `INSERT INTO refresh_tokens (user_id, session_id, device_id, token_hash, expires_at, provider_subject)
   SELECT user_id, gen_random_uuid(), device_id, '\\x00', now() + interval '1 day', uuid_send(user_id) FROM devices`,
  `INSERT INTO access_tokens (user_id, jti, session_id, expires_at, token)
   SELECT user_id, gen_random_uuid(), session_id, now() + interval '1 hour', 'x' FROM refresh_tokens`,
  `INSERT INTO channels SELECT user_id, 1 FROM users`,
  `INSERT INTO channel_events (user_id, event_offset, id, event, data, sent_at, expires_at)
   SELECT user_id, 1, gen_random_uuid(), 'x', '{}', now(), now() + interval '1 day' FROM users`,
  `INSERT INTO presence SELECT user_id, gen_random_uuid(), gen_random_uuid() FROM users`,
  `INSERT INTO logout_tokens SELECT uuid_send(user_id), now() + interval '1 day' FROM users`,
  `INSERT INTO authorization_codes (code_hash, client_id, redirect_uri, code_challenge, user_id, provider, identity, requested_at, expires_at)
   SELECT uuid_send(user_id), 'x', 'x', 'x', user_id, 'stub', '{}', now(), now() + interval '1 day' FROM users`,
  'ANALYZE',
  // Plans stay those of a large table, in which one user has few of the sessions: here it would be a third of them.
  'ALTER TABLE refresh_tokens SET (autovacuum_enabled = false)',
];

/** Work that one user can grow: it must neither end at the timeout of a statement, nor slow others. */
describe('a user with 10,000 sessions on 2,000 devices', () => {
  const endings = new Endings();
  let provider: StubProvider;
  let database: TestDatabase;
  let service: TestService;
  let ran: RunStatement[];
  let user: string;

  beforeAll(async () => {
    provider = endings.after(await StubProvider.start(), (one) => one.close());
    database = endings.after(await createDatabase(), (one) => one.close());
    for (const statement of SEED) await query(database.url, statement);
    const plans = endings.after(await reportPlans(database.url), ({ stop }) => stop());
    ran = plans.statements;
    const env = {
      ...provider.env(),
      ...providerEnv('CORP', 'http://127.0.0.1:1'), // an OpenID provider has logout tokens
      DATABASE_URL: unhurried(database.url),
      SERVICE_KEYS: SERVICE_KEY,
    };
    service = endings.after(await startTestService(env), (one) => one.close());
  }, 180_000);
  afterAll(() => endings.run());
  beforeEach(() => {
    user = randomUUID();
  });
  afterEach(() => jest.restoreAllMocks());
  const as = ({ access_token }: Tokens) => bearer(service.url, access_token);
  const backend = () => bearer(service.url, SERVICE_KEY);

  /** Fills up with sessions and devices. @param rest how many are missing then @param free a device that gets no session */
  async function grow(
    { user_id }: Tokens,
    rest = { sessions: 0, devices: 0 },
    free: string | null = null,
  ): Promise<void> {
    await query(
      database.url,
      `INSERT INTO devices (user_id, device_id, device_name, last_seen_at)
       SELECT $1, gen_random_uuid(), 'Device ' || i, now() - i * interval '7 s'
       FROM generate_series(1, $2 - (SELECT count(*) FROM devices WHERE user_id = $1)) i`,
      [user_id, DEVICES - rest.devices],
    );
    await query(
      database.url,
      `INSERT INTO refresh_tokens (user_id, session_id, device_id, token_hash, expires_at, provider_subject)
       SELECT $1, gen_random_uuid(), device_id, '\\x00', now() + interval '1 day', $3
       FROM (
         SELECT device_id FROM devices WHERE user_id = $1 AND device_id IS DISTINCT FROM $4 UNION ALL SELECT NULL
       ) d, generate_series(1, 6) AS turn
       ORDER BY turn, random()
       LIMIT $2 - (SELECT count(*) FROM refresh_tokens WHERE user_id = $1 AND signed_out_at IS NULL)`,
      [user_id, SESSIONS - rest.sessions, hashOfName('stub', user), free],
    );
  }
  async function living({ user_id }: Tokens, device: string | null = null): Promise<number> {
    const sql = `SELECT FROM refresh_tokens WHERE user_id = $1 AND signed_out_at IS NULL AND expires_at > now()
      AND ($2::uuid IS NULL OR device_id = $2)`;
    return (await query(database.url, sql, [user_id, device])).length;
  }
  /** Devices that are announced as signed out from now on. */
  function announced({ user_id }: Tokens): string[] {
    const devices: string[] = [];
    service.app.get(Events).on('channel.appended', (all) => {
      for (const { userId, event, data } of all)
        if (userId === user_id && event === 'device.signed_out')
          devices.push((data as { device_id: string }).device_id);
    });
    return devices;
  }

  /** How many sessions each slice of a sign-out has ended, as the audit trail has it. */
  function audited({ user_id }: Tokens, at = service): number[] {
    const sessions: number[] = [];
    at.app.get(Events).on('audit.recorded', (recorded) => {
      const ended = recorded.filter((one) => one.event === 'sign_out' && one.user_id === user_id);
      if (ended.length > 0) sessions.push(ended.length);
    });
    return sessions;
  }

  it('is served at every endpoint, by statements that read a few of their rows', async () => {
    const device = randomUUID();
    const mine = await signIn(service.url, user, { device_id: device });
    await grow(mine, { sessions: 100, devices: 2 });
    await query(
      database.url,
      `INSERT INTO channel_events (user_id, event_offset, id, event, data, sent_at, expires_at)
       SELECT $1, i, gen_random_uuid(), 'x', '{}', now(), now() + interval '1 day' FROM generate_series(2, ${EVENTS}) i`,
      [mine.user_id],
    );
    await query(database.url, 'UPDATE channels SET last_offset = $2 WHERE user_id = $1', [
      mine.user_id,
      EVENTS,
    ]);
    ran.length = 0;

    // The hot paths, alone and in batches: they find rows by whole keys, and read a page of the history.
    const refresh = () => request(service.url).post('/oauth2/refresh').send(mine).expect(200);
    const whoAmI = () => as(mine).get('/me').expect(200);
    for (const call of [refresh, whoAmI]) {
      await call();
      await Promise.all(Array.from({ length: 20 }, call));
    }
    const push = (more = {}) => backend().post('/push', { user_id: mine.user_id, event: 'x', ...more });
    const socket = await SocketClient.connect(service.url, mine.access_token, { offset: 5 });
    await becomes(() => socket.received.filter(({ event }) => event === 'x').length === 995);
    await push().expect(202);
    await push({ device_id: device, ttl: 0 }).expect(202);
    await push().set('Idempotency-Key', randomUUID()).expect(202);
    for (const token_type_hint of ['access_token', 'refresh_token']) {
      const token = token_type_hint === 'access_token' ? mine.access_token : mine.refresh_token;
      const { body } = await backend().post('/oauth2/introspect', { token, token_type_hint }).expect(200);
      expect(body).toMatchObject({ active: true });
    }
    await service.app.get(LastUseWriter).write();
    expect(ran.filter(({ rows }) => rows > EVENTS)).toEqual([]);

    const forgotten = randomUUID();
    await signIn(service.url, user, { device_id: forgotten });
    await Promise.all([user, user, randomUUID(), randomUUID()].map((who) => signIn(service.url, who)));
    for (let path = '/devices'; path !== '';) {
      const { body } = await as(mine).get(path).expect(200);
      const { next_cursor: next } = body as { next_cursor?: string };
      path = next === undefined ? '' : `/devices?cursor=${next}`;
    }
    await as(mine).patch(`/devices/${device}`, { device_name: 'Mine' }).expect(200);
    await as(mine).delete(`/devices/${forgotten}`).expect(204);
    const revoked = await signIn(service.url, user);
    await request(service.url).post('/oauth2/revoke').send({ token: revoked.refresh_token }).expect(200);

    const own = await living(mine, device);
    expect(own).toBeGreaterThanOrEqual(5);
    await as(mine).post('/sign-out', { scope: 'others' }).expect(204);
    expect(await living(mine)).toBe(own);
    socket.close();
    const [{ device_id: left }] = (await query(
      database.url,
      'SELECT device_id FROM devices WHERE user_id = $1 AND device_id <> $2 LIMIT 1',
      [mine.user_id, device],
    )) as [{ device_id: string }];
    await grow(mine, { sessions: 3, devices: 0 }, left);
    await signIn(service.url, user, { device_id: randomUUID() }); // in the place of another device
    for (const scope of ['current', 'all']) {
      const again = await signIn(service.url, user, { device_id: device });
      await as(again).post('/sign-out', { scope }).expect(204);
    }
    expect(await living(mine)).toBe(0);
    await grow(mine);
    await logOut({ subject: user });
    expect(await living(mine)).toBe(0);
    await grow(mine);
    await backend().post(`/users/${mine.user_id}/sign-out`).expect(200);
    expect(await living(mine)).toBe(0);
    await grow(mine);
    await backend().delete(`/users/${mine.user_id}`).expect(204);
    expect(await living(mine)).toBe(0);

    // Not the removal of expired rows, which may begin at any time: it takes 1,000 rows, whoever has them.
    const statements = ran.filter(
      ({ text }) => !text.includes('is_ours') && LARGE.some((table) => text.includes(table)),
    );
    expect(new Set(statements.map(({ text }) => text)).size).toBeGreaterThan(40);
    const faults = statements.filter(
      ({ scanned, rows }) => rows > MOST_ROWS || scanned.some((table) => LARGE.includes(table)),
    );
    expect(faults).toEqual([]);
  }, 180_000);

  /** As if the provider `stub` had sent a good logout token. */
  async function logOut(names: { subject?: string; session?: string }, jti = randomUUID()): Promise<void> {
    const until = Date.now() / 1000 + 120;
    jest
      .spyOn(service.app.get(ProviderTokens), 'verifyLogout')
      .mockResolvedValue({ jti, until, subject: null, session: null, ...names });
    await service.app.get(BackchannelLogout).apply('stub', 'a token', NOWHERE, undefined);
  }
  /** The database goes away before the third transaction that is begun from now on. */
  function failBetweenSlices(): void {
    const history = service.app.get(ChannelHistory);
    const transaction = history.transaction.bind(history);
    jest
      .spyOn(history, 'transaction')
      .mockImplementationOnce(transaction)
      .mockImplementationOnce(transaction)
      .mockRejectedValueOnce(new DatabaseBusy('away'));
  }

  describe('a sign-out that fails between two slices', () => {
    it.each<[string, (mine: Tokens) => Promise<unknown>]>([
      ['by a service key', ({ user_id }) => backend().post(`/users/${user_id}/sign-out`).expect(200)],
      ['of others', (mine) => as(mine).post('/sign-out', { scope: 'others' }).expect(204)],
      ['before a removal', ({ user_id }) => backend().delete(`/users/${user_id}`).expect(204)],
    ])(
      '%s: its repeat ends the rest, and each device is announced once',
      async (what, signOut) => {
        const mine = await signIn(service.url, user);
        await grow(mine);
        const devices = announced(mine);
        const told = audited(mine);
        failBetweenSlices();
        await expect(signOut(mine)).rejects.toThrow('500');
        expect(await living(mine)).toBe(SESSIONS - 2000);
        await signOut(mine);
        expect(await living(mine)).toBe(what === 'of others' ? 1 : 0);
        expect(devices).toHaveLength(DEVICES);
        expect(new Set(devices).size).toBe(DEVICES);
        expect(Math.max(...told)).toBe(1000); // one slice
        expect(told.reduce((sum, sessions) => sum + sessions)).toBe(
          SESSIONS - (what === 'of others' ? 1 : 0),
        );
      },
      120_000,
    );

    // The `jti` is stored in the transaction of the sign-out, which has several here: the last one.
    it('by the provider: its token is good until all sessions have ended, and then no more', async () => {
      const mine = await signIn(service.url, user, { device_id: randomUUID() });
      await grow(mine);
      const devices = announced(mine);
      const jti = randomUUID();
      failBetweenSlices();
      await expect(logOut({ subject: user }, jti)).rejects.toThrow('away');
      expect(await living(mine)).toBe(SESSIONS - 2000);
      await logOut({ subject: user }, jti);
      expect(await living(mine)).toBe(1); // that the provider has not named
      expect(new Set(devices).size).toBe(devices.length);
      const again = await signIn(service.url, user);
      await expect(logOut({ subject: user }, jti)).rejects.toMatchObject({ error: 'invalid_request' });
      await as(again).get('/me').expect(200);
    });
  });

  it('a sign-in beyond MAX_SESSIONS ends the others in slices, while other users sign in and refresh', async () => {
    const env = { ...provider.env(), DATABASE_URL: unhurried(database.url) };
    const limits = { SESSION_IDLE_TTL: '1800', MAX_SESSIONS: '50' };
    const limited = await startTestService({ ...env, ...limits });
    try {
      const mine = await signIn(limited.url, user, { device_id: randomUUID() });
      const other = await signIn(limited.url);
      await grow(mine, { sessions: 2, devices: 2 });
      const told = audited(mine, limited);
      ran.length = 0;
      const again = signIn(limited.url, user, { device_id: randomUUID() });
      const state = { isOver: false };
      const ends = again.finally(() => (state.isOver = true));
      do {
        await request(limited.url).post('/oauth2/refresh').send(other).expect(200);
        await signIn(limited.url);
      } while (!state.isOver);
      const { access_token } = await ends;
      expect(await living(mine)).toBe(50);
      await bearer(limited.url, access_token).get('/me').expect(200);
      expect(Math.max(...told)).toBe(1000); // one slice
      expect(told.reduce((sum, sessions) => sum + sessions)).toBe(SESSIONS - 2 + 1 - 50);
      const faults = ran.filter(
        ({ text, scanned, rows }) =>
          !text.includes('is_ours') && (rows > MOST_ROWS || scanned.some((table) => LARGE.includes(table))),
      );
      expect(faults).toEqual([]);
    } finally {
      await limited.close();
    }
  });

  it('a device with thousands of sessions is signed out and removed', async () => {
    const device = randomUUID();
    const mine = await signIn(service.url, user, { device_id: device });
    await query(
      database.url,
      `INSERT INTO refresh_tokens (user_id, session_id, device_id, token_hash, expires_at)
       SELECT $1, gen_random_uuid(), $2, '\\x00', now() + interval '1 day' FROM generate_series(1, 2500)`,
      [mine.user_id, device],
    );
    const devices = announced(mine);
    await as(mine).delete(`/devices/${device}`).expect(204);
    expect([await living(mine), devices]).toEqual([0, [device]]);
    expect(await query(database.url, 'SELECT FROM devices WHERE user_id = $1', [mine.user_id])).toEqual([]);
  });

  it('two sign-outs at once, with sign-ins and refreshes: no token lives on, and no device is announced twice', async () => {
    const mine = await signIn(service.url, user, { device_id: randomUUID() });
    await grow(mine, { sessions: 50, devices: 50 });
    const devices = announced(mine);
    const refreshes: Response[] = [];
    const refreshing = (async () => {
      do refreshes.push(await request(service.url).post('/oauth2/refresh').send(mine));
      while (refreshes.at(-1)!.status !== 401); // a busy machine may exceed the limits of a statement: 500
    })();
    const signIns = Array.from({ length: 5 }, () =>
      // one that began before a sign-out is refused
      signIn(service.url, user, { device_id: randomUUID() }).catch((error: Error) =>
        expect(error.message).toContain('the user was signed out during the sign-in'),
      ),
    );
    const signOut = () => backend().post(`/users/${mine.user_id}/sign-out`).expect(200);
    await Promise.all([signOut(), signOut(), ...signIns]);
    expect(await living(mine)).toBeLessThanOrEqual(signIns.length);
    await refreshing;
    expect(refreshes.at(-1)!.status).toBe(401);
    for (const { status, body } of refreshes.slice(-20)) {
      if (status === 200)
        await as(body as Tokens)
          .get('/me')
          .expect(401);
    }
    await signOut();
    expect(await living(mine)).toBe(0);
    expect(new Set(devices).size).toBe(devices.length);
    expect(devices.length).toBeGreaterThanOrEqual(DEVICES - 50);
  });

  /** POST /oauth2/token (docs/security.md#database). */
  describe('may sign in', () => {
    const rowsOf = async ({ user_id }: Tokens) => {
      const tables = ['users', 'devices', 'refresh_tokens', 'access_tokens', 'channels', 'channel_events'];
      const texts = tables.map(
        (table) => `(SELECT string_agg(t::text, ',' ORDER BY t::text) FROM ${table} t WHERE user_id = $1)`,
      );
      return query(database.url, `SELECT ${texts.join(', ')}`, [user_id]);
    };
    const exchange = async (body: object = {}): Promise<Response> =>
      request(service.url)
        .post('/oauth2/token')
        .send({ code: user, state: await beginSignIn(service.url), ...body });
    const exchangeAsClient = async (body: Record<string, unknown> = {}): Promise<Response> => {
      const client = new StockClient();
      return client.token(service.url, await client.codeFrom(service.url, { code: user }), body);
    };
    function expectRefused({ status, headers, body }: Response): void {
      expect([status, body]).toEqual([
        429,
        { error: 'slow_down', error_description: expect.stringMatching(/sessions|devices/) },
      ]);
      expect(headers['retry-after']).toMatch(/^\d+$/);
    }
    const devicesOf = async ({ user_id }: Tokens): Promise<string[]> => {
      const sql = 'SELECT device_id AS id FROM devices WHERE user_id = $1';
      return (await query<{ id: string }>(database.url, sql, [user_id])).map(({ id }) => id);
    };

    it('with 10,000 sessions at most, by either flow; nothing is written beyond', async () => {
      const device = randomUUID();
      const mine = await signIn(service.url, user, { device_id: device });
      await grow(mine);
      const before = await rowsOf(mine);
      const refused: unknown[] = [];
      service.app.get(Events).on('audit.recorded', (recorded) => {
        refused.push(
          ...recorded.filter(({ event, user_id }) => event === 'sign_in_refused' && user_id === mine.user_id),
        );
      });
      expectRefused(await exchange({ device_id: device }));
      expectRefused(await exchange());
      expectRefused(await exchangeAsClient({ device_id: randomUUID() }));
      expect(await rowsOf(mine)).toEqual(before);
      await becomes(() => refused.length === 3);
      const refusal = expect.objectContaining({ error: 'slow_down', provider: 'stub' });
      expect(refused).toEqual([refusal, refusal, refusal]);

      // Other users sign in at that time, partly in that statement.
      const others = Array.from({ length: 5 }, () => signIn(service.url));
      const [again, ...all] = await Promise.all([exchange(), ...others]);
      expectRefused(again);
      for (const other of all) await as(other).get('/me').expect(200);

      for (const end of ['signed_out_at = now(), expires_at = now()', 'expires_at = now()']) {
        await query(
          database.url,
          `UPDATE refresh_tokens SET ${end} WHERE ctid IN (
             SELECT ctid FROM refresh_tokens WHERE user_id = $1 AND expires_at > now() AND token_hash = '\\x00' LIMIT 1)`,
          [mine.user_id],
        );
        expect((await exchange()).status).toBe(200);
        expectRefused(await exchange());
      }
    });

    it('two more an instance at most, at the same moment', async () => {
      const mine = await signIn(service.url, user);
      await grow(mine, { sessions: 1, devices: 1 });
      const states = await Promise.all(Array.from({ length: 12 }, () => beginSignIn(service.url)));
      const answers = await Promise.all(
        states.map((state) =>
          request(service.url).post('/oauth2/token').send({ code: user, state, device_id: randomUUID() }),
        ),
      );
      for (const answer of answers) if (answer.status !== 200) expectRefused(answer);
      expect(await living(mine)).toBeGreaterThanOrEqual(SESSIONS);
      expect(await living(mine)).toBeLessThanOrEqual(SESSIONS + 2);
      expect((await devicesOf(mine)).length).toBeLessThanOrEqual(DEVICES + 2);
    });

    it('on 2,000 devices, of which a new one replaces the one that has been signed out the longest', async () => {
      const [first, second, third] = [randomUUID(), randomUUID(), randomUUID()];
      const mine = await signIn(service.url, user);
      await signIn(service.url, user, { device_id: first });
      const late = await signIn(service.url, user, { device_id: second });
      const early = await signIn(service.url, user, { device_id: third });
      await grow(mine, { sessions: 500, devices: 1 });
      const forgotten = randomUUID(); // its sessions have been removed
      await query(database.url, 'INSERT INTO devices (user_id, device_id) VALUES ($1, $2)', [
        mine.user_id,
        forgotten,
      ]);
      for (const device of [third, second])
        await query(
          database.url,
          `UPDATE refresh_tokens SET signed_out_at = now(), expires_at = now()
           WHERE user_id = $1 AND device_id = $2`,
          [mine.user_id, device],
        );
      for (const ended of [early, late]) await as(ended).get('/me').expect(401);

      const heard: string[] = [];
      service.app.get(Events).on('audit.recorded', (recorded) => {
        const removed = recorded.filter(({ event }) => event === 'device_removed');
        heard.push(...removed.map(({ device_id }) => device_id!));
      });
      const added: string[] = [];
      for (const exchangeWith of [exchange, exchangeAsClient, exchange]) {
        const device_id = randomUUID();
        expect((await exchangeWith({ device_id })).status).toBe(200);
        added.push(device_id);
      }
      expect(heard).toEqual([forgotten, third, second]);
      const before = await rowsOf(mine);
      expectRefused(await exchange({ device_id: randomUUID() }));
      expectRefused(await exchangeAsClient({ device_id: randomUUID() }));
      expect(await rowsOf(mine)).toEqual(before);
      const devices = await devicesOf(mine);
      expect(devices).toHaveLength(DEVICES);
      expect(devices).toEqual(expect.arrayContaining([first, ...added]));
      // A device that is known, and none, need no room.
      expect((await exchange({ device_id: first })).status).toBe(200);
      expect((await exchange()).status).toBe(200);
    });
  });
});

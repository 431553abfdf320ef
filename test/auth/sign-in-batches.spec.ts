import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import request from 'supertest';
import { signInBatched } from '../../src/auth/sign-in/batched-sign-ins.js';
import { TokenIssuer, type DeviceFields } from '../../src/auth/sign-in/token-issuer.js';
import { Sql } from '../../src/database/statements/sql.js';
import { isDatabaseAway } from '../../src/errors/database-error.js';
import { Events, type ChannelEvent } from '../../src/events.js';
import { parseIdentity } from '../../src/provider/identity/identity.js';
import { userIdOf } from '../../src/user/user-id.js';
import { claimsOf, signInOf } from '../support/sign-in.js';
import { query } from '../support/database.js';
import { startTestService, type TestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';
import { until, waiting, watchLateness } from '../support/waiting.js';
import type { IssuedTokens } from '../../src/auth/token.dto.js';

/** Sign-ins that arrive in one turn are batched into one statement (auth/sign-in/batched-sign-ins.ts). */
describe('concurrent sign-ins', () => {
  let provider: StubProvider;
  let service: TestService;
  /** How many sign-ins each shared statement had. */
  let batches: number[];
  let appended: ChannelEvent[];
  let users: string[];

  beforeAll(async () => {
    provider = await StubProvider.start();
    service = await startTestService({ ...provider.env(), CHANNEL_HISTORY: '150' });
    const events = service.app.get(Events);
    events.on('statement.shared', ({ name, calls }) => void (name === 'sign-in' && batches.push(calls)));
    events.on('channel.appended', (event) => void appended.push(event));
  });
  afterAll(async () => {
    await service?.close();
    await provider?.close();
  });
  beforeEach(() => {
    [batches, appended] = [[], []];
    users = Array.from({ length: 12 }, () => randomUUID());
  });

  const db = (text: string, values: unknown[] = []) => query(service.databaseUrl, text, values);
  const idOf = (user: string): string => userIdOf('stub', user);
  const proofOf = (jti: string) => ({ jkt: Buffer.alloc(32, 1), jti: Buffer.from(jti) });

  function issue(
    user: string,
    device: DeviceFields = {},
    facts: object = {},
    proof?: ReturnType<typeof proofOf>,
  ): Promise<IssuedTokens> {
    const identity = parseIdentity({ provider_user_id: user, ...facts });
    const verified = { provider: 'stub', identity, asked: Date.now() };
    return service.app
      .get(TokenIssuer)
      .issue(verified, device, { proof, userAgentHeader: undefined } as never);
  }

  /** Whether the tokens of a sign-in are good, and all of it is stored. */
  async function isWhole({ access_token, refresh_token, user_id }: IssuedTokens): Promise<boolean> {
    const me = await request(service.url).get('/me').set('Authorization', `Bearer ${access_token}`);
    const refresh = await request(service.url).post('/oauth2/refresh').send({ refresh_token });
    return me.status === 200 && refresh.status === 200 && (me.body as IssuedTokens).user_id === user_id;
  }
  async function rowsOf(user: string): Promise<Record<string, number>> {
    const tables = ['users', 'devices', 'refresh_tokens', 'access_tokens', 'channels', 'channel_events'];
    const counts = tables.map(
      (table) => `(SELECT count(*)::int FROM ${table} WHERE user_id = $1) AS ${table}`,
    );
    return (await db(`SELECT ${counts.join(', ')}`, [idOf(user)]))[0] as Record<string, number>;
  }
  const ONE = { users: 1, devices: 1, refresh_tokens: 1, access_tokens: 1, channels: 1, channel_events: 1 };
  const NONE = Object.fromEntries(Object.keys(ONE).map((table) => [table, 0]));

  it('share one statement, and each has its own rows, tokens and event', async () => {
    const devices = users.map(() => randomUUID());
    const tokens = await Promise.all(users.map((user, i) => issue(user, { device_id: devices[i]! })));
    expect(batches).toEqual([users.length]);
    for (const [i, user] of users.entries()) {
      expect(await rowsOf(user)).toEqual(ONE);
      expect(claimsOf(tokens[i]!.access_token)).toMatchObject({ sub: idOf(user), device_id: devices[i] });
      const data = expect.objectContaining({ device_id: devices[i] });
      expect(appended.filter(({ userId }) => userId === idOf(user))).toMatchObject([{ offset: 1, data }]);
    }
    expect(await Promise.all(tokens.map(isWhole))).toEqual(users.map(() => true));
  });

  it('a bad one fails alone, and leaves nothing', async () => {
    await db(`ALTER TABLE users ADD CONSTRAINT not_mallory CHECK (username <> 'Mallory')`);
    try {
      const bad = 5;
      const all = await Promise.allSettled(
        users.map((user, i) =>
          issue(user, { device_id: randomUUID() }, { username: i === bad ? 'Mallory' : 'Ada' }),
        ),
      );
      expect(batches[0]).toBe(users.length);
      expect(all.map(({ status }) => status)).toEqual(
        users.map((_, i) => (i === bad ? 'rejected' : 'fulfilled')),
      );
      for (const [i, user] of users.entries()) expect(await rowsOf(user)).toEqual(i === bad ? NONE : ONE);
      expect(appended).toHaveLength(users.length - 1);
      for (const result of all)
        if (result.status === 'fulfilled') expect(await isWhole(result.value)).toBe(true);
    } finally {
      await db('ALTER TABLE users DROP CONSTRAINT not_mallory');
    }
  });

  it.each([
    ['before', 1],
    ['by two of them', 0],
  ])('a proof that was used %s is refused alone', async (_when, before) => {
    const proof = proofOf(randomUUID());
    const user = users[3]!;
    if (before) await issue(user, {}, {}, proof);
    const racers = [...users.map((one) => issue(one, {}, {}, proof)), issue(user, {}, {}, proof)];
    const all = await Promise.allSettled(racers); // for another user the proof makes another token
    const refused = all.flatMap((result, i) =>
      result.status === 'rejected' ? [[i, result.reason as object]] : [],
    );
    expect(refused).toEqual(
      [...(before ? [3] : []), users.length].map((i) => [
        i,
        expect.objectContaining({ error: 'invalid_dpop_proof' }),
      ]),
    );
    expect(await rowsOf(user)).toMatchObject({ refresh_tokens: 1, access_tokens: 1 });
  });

  it('of one user: each is recorded, the first one first', async () => {
    const user = users[0]!;
    const [phone, laptop] = [randomUUID(), randomUUID()];
    const tokens = await Promise.all([
      issue(user, { device_id: phone, device_name: 'Phone' }, { username: 'Ada' }),
      issue(user, { device_id: phone, user_agent: 'Browser' }, { username: 'Ada L.' }),
      issue(users[1]!, { device_id: phone }),
      issue(user, { device_id: laptop }, { username: 'Ada L.' }),
      issue(user, {}, { username: 'Ada L.' }),
    ]);
    expect(batches).toEqual([5]);
    expect(await Promise.all(tokens.map(isWhole))).toEqual(tokens.map(() => true));
    expect(await rowsOf(user)).toMatchObject({
      users: 1,
      devices: 2,
      refresh_tokens: 4,
      channels: 1,
      channel_events: 3,
    });
    const mine = appended.filter(({ userId }) => userId === idOf(user));
    expect(new Set(mine.map(({ offset }) => offset))).toEqual(new Set([1, 2, 3]));
    expect(mine).toHaveLength(3);
    const first = { device_name: 'Phone', user_agent: null };
    expect(mine.find(({ offset }) => offset === 1)!.data).toMatchObject(first);
  });

  it('do not wait for a user whose row is locked', async () => {
    const held = users[4]!;
    await issue(held);
    const holder = new Client(service.databaseUrl);
    await holder.connect();
    try {
      await holder.query('BEGIN');
      await holder.query('SELECT FROM users WHERE user_id = $1 FOR UPDATE', [idOf(held)]);
      const others = users
        .filter((user) => user !== held)
        .map((user) => issue(user, { device_id: randomUUID() }));
      let one = issue(held);
      one.catch(() => undefined);
      const tokens = await Promise.all(others); // the batch met the lock, so each was written singly
      expect(batches).toContain(users.length);
      for (const user of users) if (user !== held) expect(await rowsOf(user)).toEqual(ONE);
      expect(await Promise.all(tokens.map(isWhole))).toEqual(others.map(() => true));
      while (!(await waiting(service.databaseUrl, 1, one))) one = issue(held); // its second was over on a busy machine
      await holder.query('COMMIT');
      expect(await isWhole(await one)).toBe(true);
    } finally {
      await holder.end();
    }
  });

  it('one user who signs in many times at once takes no connections from others', async () => {
    const [flooding, other] = users as [string, string];
    await issue(flooding);
    const holder = new Client(service.databaseUrl);
    await holder.connect();
    try {
      await holder.query('BEGIN');
      await holder.query('SELECT FROM users WHERE user_id = $1 FOR UPDATE', [idOf(flooding)]);
      const flood = Promise.allSettled(Array.from({ length: 40 }, () => issue(flooding)));
      await until(() => batches.includes(40)); // the batch met the lock
      expect(await waiting(service.databaseUrl, 1, flood)).toBe(true);
      const lateness = watchLateness();
      const began = performance.now();
      const tokens = await issue(other);
      expect(performance.now() - began).toBeLessThan(700 + 10 * lateness()); // not only after the flood has timed out
      expect(await isWhole(tokens)).toBe(true);
      await holder.query('COMMIT');
      const refused = (await flood).flatMap((one) =>
        one.status === 'rejected' ? [one.reason as Error] : [],
      );
      expect(refused.filter((error) => !isDatabaseAway(error))).toEqual([]); // of a machine that is too busy
      expect(await isWhole(await issue(flooding))).toBe(true);
    } finally {
      await holder.end();
    }
  });

  /** What the database does at each statement that inserts users; `n` is how many. */
  async function atInserts<Result>(plpgsql: string, work: () => Promise<Result>): Promise<Result> {
    await db(`CREATE FUNCTION at_inserts() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE n int; BEGIN
      SELECT count(*) INTO n FROM inserted; ${plpgsql} RETURN NULL; END $$`);
    await db(`CREATE TRIGGER at_inserts AFTER INSERT ON users REFERENCING NEW TABLE AS inserted
      FOR EACH STATEMENT EXECUTE FUNCTION at_inserts()`);
    try {
      return await work();
    } finally {
      await db('DROP FUNCTION at_inserts CASCADE');
    }
  }

  it.each([
    [
      'whose commit is not known to be on the standby',
      `RAISE WARNING 'canceling wait for synchronous replication';`,
    ],
    ['whose connection is lost', 'PERFORM pg_terminate_backend(pg_backend_pid());'],
  ])('none is acknowledged, or tried again, of a statement %s', async (_what, plpgsql) => {
    const all = await atInserts(plpgsql, () => Promise.allSettled(users.map((user) => issue(user))));
    const errors = all.map((result) => (result.status === 'rejected' ? (result.reason as Error) : undefined));
    expect(errors.map((error) => isDatabaseAway(error))).toEqual(users.map(() => true));
    expect([batches, appended]).toEqual([[users.length], []]);
    const tokens = await Promise.all(users.map((user) => issue(user))); // and the next ones are
    expect(tokens).toHaveLength(users.length);
  });

  it.each([
    [4, 200, 50],
    [4, 6000, 2501],
  ])(
    'trims %s histories of %s events at every hundredth event, a long one in steps',
    async (many, last, first) => {
      const some = Array.from({ length: many }, () => randomUUID());
      const ids = some.map(idOf);
      await db('INSERT INTO channels (user_id, last_offset) SELECT unnest($1::uuid[]), $2', [ids, last - 1]);
      await db(
        `INSERT INTO channel_events (user_id, event_offset, id, event, data, sent_at, expires_at)
         SELECT u, n, gen_random_uuid(), 'news', '1', now(), now() + interval '1 day'
         FROM unnest($1::uuid[]) u, generate_series(1, $2::int - 1) n`,
        [ids, last],
      );
      await Promise.all(some.map((user) => issue(user, { device_id: randomUUID() })));
      expect(batches).toEqual([many]);
      const kept = await db(
        `SELECT DISTINCT min(event_offset)::int AS first, max(event_offset)::int AS last
         FROM channel_events WHERE user_id = ANY ($1) GROUP BY user_id`,
        [ids],
      );
      expect(kept).toEqual([{ first, last }]);
    },
  );

  const sessionOf = (user: string, deviceId: string) => ({
    userId: idOf(user),
    sessionId: randomUUID(),
    deviceId,
  });

  // Transactions that lock in one order cannot deadlock.
  it.each(['users', 'devices', 'channels'])(
    'locks %s in the order of their keys, and all before what comes later',
    async (table) => {
      const order = ['users', 'devices', 'channels'];
      const device_id = randomUUID();
      const inOrder = users.map(idOf).toSorted();
      for (const user of users) await issue(user, { device_id });
      const holder = new Client(service.databaseUrl);
      await holder.connect();
      try {
        await holder.query('BEGIN');
        await holder.query(`SELECT FROM ${table} WHERE user_id = $1 FOR UPDATE`, [inOrder[1]]);
        const some = users
          .map((user) => signInOf(user, { provider: 'stub', session: sessionOf(user, device_id) }))
          .toSorted((a, b) => (a.session.userId < b.session.userId ? 1 : -1));
        const recorded = signInBatched(service.app.get(Sql), some, 1000, null);
        expect(await waiting(service.databaseUrl, 1, recorded)).toBe(true);
        for (const later of order.slice(order.indexOf(table))) {
          const free = await holder.query<{ user_id: string }>(
            `SELECT user_id FROM ${later} WHERE user_id = ANY ($1) ORDER BY user_id FOR UPDATE SKIP LOCKED`,
            [inOrder],
          );
          expect(free.rows.map(({ user_id }) => user_id)).toEqual(
            later === table ? inOrder.slice(1) : inOrder,
          );
        }
        await holder.query('COMMIT');
        expect((await recorded).size).toBe(users.length);
      } finally {
        await holder.end();
      }
    },
  );
});

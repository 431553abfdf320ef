import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { Sql } from '../../src/database/statements/sql.js';
import { Events } from '../../src/events.js';
import {
  BATCH,
  expiredRows,
  REMOVAL_LOCK,
  type Batch,
  type ExpiredRows,
} from '../../src/removal/expired-rows.js';
import { Removal } from '../../src/removal/removal.js';
import { query } from '../support/database.js';
import { startTestService, type TestService } from '../support/service.js';
import { until } from '../support/waiting.js';

const WAITING = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;

let service: TestService;
let removal: Removal;

beforeAll(async () => {
  const timer = jest.spyOn(Removal.prototype, 'onApplicationBootstrap').mockReturnValue(); // runs only when told to
  service = await startTestService({}, { hasOwnLimits: true });
  timer.mockRestore();
  removal = service.app.get(Removal);
});
afterAll(() => service?.close());

function sql(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  return query(service.databaseUrl, text, values);
}

/** What the entities say about expiry. */
function removedFrom(): readonly ExpiredRows[] {
  return expiredRows(service.app.get(DataSource));
}

async function count(table: string): Promise<number> {
  const [row] = await sql(`SELECT count(*)::int AS count FROM ${table}`);
  return row!['count'] as number;
}

/** Inserts so many rows, whose expiry is the SQL expression, in which `i` is 1 … rows. */
const insert: Record<string, (rows: number, expiresAt: string) => Promise<unknown>> = {
  access_tokens: (rows, expiresAt) =>
    sql(
      `INSERT INTO access_tokens (user_id, jti, session_id, expires_at, token)
       SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), ${expiresAt}, repeat('t', 600)
       FROM generate_series(1, $1) i`,
      [rows],
    ),
  authorization_states: (rows, expiresAt) =>
    sql(
      `INSERT INTO authorization_states (state_hash, provider, redirect_uri, expires_at)
       SELECT uuid_send(gen_random_uuid()), 'stub', 'https://app.example', ${expiresAt}
       FROM generate_series(1, $1) i`,
      [rows],
    ),
  sample_codes: (rows, expiresAt) =>
    sql(
      `INSERT INTO sample_codes (code_hash, client_id, redirect_uri, provider_user_id, expires_at)
       SELECT uuid_send(gen_random_uuid()), 'latchkey', 'https://app.example', 'ada', ${expiresAt}
       FROM generate_series(1, $1) i`,
      [rows],
    ),
  authorization_codes: (rows, expiresAt) =>
    sql(
      `INSERT INTO authorization_codes
         (code_hash, client_id, redirect_uri, code_challenge, user_id, provider, identity, asked_at, expires_at)
       SELECT uuid_send(gen_random_uuid()), 'app', 'https://app.example', '-', gen_random_uuid(), 'stub', '{}', now(), ${expiresAt}
       FROM generate_series(1, $1) i`,
      [rows],
    ),
  logout_tokens: (rows, expiresAt) =>
    sql(
      `INSERT INTO logout_tokens (token_hash, expires_at)
       SELECT uuid_send(gen_random_uuid()), ${expiresAt} FROM generate_series(1, $1) i`,
      [rows],
    ),
  refresh_tokens: (rows, expiresAt) =>
    sql(
      `INSERT INTO refresh_tokens (user_id, session_id, token_hash, expires_at)
       SELECT gen_random_uuid(), gen_random_uuid(), '\\x00', ${expiresAt} FROM generate_series(1, $1) i`,
      [rows],
    ),
  channel_events: (rows, expiresAt) =>
    sql(
      `INSERT INTO channel_events (user_id, event_offset, id, event, data, sent_at, expires_at)
       SELECT gen_random_uuid(), i, gen_random_uuid(), 'event', '{}', now(), ${expiresAt}
       FROM generate_series(1, $1) i`,
      [rows],
    ),
  idempotency_keys: (rows, expiresAt) =>
    sql(
      `INSERT INTO idempotency_keys (key_hash, body_hash, expires_at)
       SELECT uuid_send(gen_random_uuid()), '\\x00', ${expiresAt} FROM generate_series(1, $1) i`,
      [rows],
    ),
};
const TABLES = Object.keys(insert);

beforeEach(() => sql(`TRUNCATE ${TABLES.join(', ')}`));

describe('what has expired is removed', () => {
  it.each(TABLES)('%s: the expired rows, and no other', async (table) => {
    await insert[table]!(3, `now() - i * interval '10 seconds'`);
    await insert[table]!(2, `now() + i * interval '10 seconds'`);
    expect(await removal.run()).toEqual({ [table]: 3 });
    expect(await count(table)).toBe(2);
  });

  it('covers every table that has an expiry', async () => {
    const rows = await sql(
      `SELECT table_name FROM information_schema.columns
       WHERE table_schema = 'public' AND column_name = 'expires_at'`,
    );
    const tables = new Set(rows.map((row) => row['table_name']));
    expect(new Set(removedFrom().map(({ table }) => table))).toEqual(tables);
    expect(new Set(TABLES)).toEqual(tables); // which this test covers as well
  });

  it.each(TABLES)('%s: many with the same expiry', async (table) => {
    await insert[table]!(2 * BATCH + 1, `date_trunc('minute', now()) - interval '1 hour'`);
    expect(await removal.run()).toEqual({ [table]: 2 * BATCH + 1 });
  });

  it('by itself, well within a minute, until the service stops', async () => {
    jest.useFakeTimers();
    try {
      const ask = jest.fn(() => Promise.resolve([{ seen: 0, removed: 0, next: null }]));
      const alone = new Removal({ query: ask } as unknown as Sql, service.app.get(DataSource), new Events());
      alone.onApplicationBootstrap();
      for (let run = 1; run <= 3; run++) {
        await jest.advanceTimersByTimeAsync(40_000);
        expect(ask.mock.calls.length).toBeGreaterThanOrEqual(run * TABLES.length);
      }
      await alone.beforeApplicationShutdown();
      ask.mockClear();
      await jest.advanceTimersByTimeAsync(120_000);
      expect(ask).not.toHaveBeenCalled();
    } finally {
      jest.useRealTimers();
    }
  });
});

describe('a session that has ended', () => {
  const HOUR = `interval '1 hour'`;

  it('by itself: stays until its last access token has had its hour', async () => {
    await insert['refresh_tokens']!(1, `now() - ${HOUR}`);
    await sql(
      `INSERT INTO access_tokens (user_id, jti, session_id, expires_at, token)
       SELECT user_id, gen_random_uuid(), session_id, now() + ${HOUR}, 't' FROM refresh_tokens`,
    );
    expect(await removal.run()).toEqual({});
    await sql(`UPDATE access_tokens SET expires_at = now()`);
    expect(await removal.run()).toEqual({ access_tokens: 1, refresh_tokens: 1 });
  });

  it('by itself: is not kept for an access token of another session of the user', async () => {
    await insert['refresh_tokens']!(1, `now() - ${HOUR}`);
    await sql(
      `INSERT INTO access_tokens (user_id, jti, session_id, expires_at, token)
       SELECT user_id, gen_random_uuid(), gen_random_uuid(), now() + ${HOUR}, 't' FROM refresh_tokens`,
    );
    expect(await removal.run()).toEqual({ refresh_tokens: 1 });
  });

  it('a moment ago: stays, for a refresh may be under way', async () => {
    await insert['refresh_tokens']!(1, `now()`);
    expect(await removal.run()).toEqual({});
  });

  it.each([
    ['9 minutes ago', '9 minutes', '9 minutes', 0],
    ['9 minutes ago, when it had expired before', '9 minutes', '2 days', 0],
    ['half an hour ago: other services may hold its token', '30 minutes', '30 minutes', 0],
    ['62 minutes ago', '62 minutes', '62 minutes', 1],
  ])('signed out %s', async (_when, signedOut, expired, removed) => {
    await insert['refresh_tokens']!(1, `now() - interval '${expired}'`);
    await sql(`UPDATE refresh_tokens SET signed_out_at = now() - $1::interval`, [signedOut]);
    expect((await removal.run())['refresh_tokens'] ?? 0).toBe(removed);
  });

  it.each([
    ['all at different times', `now() - i * interval '1 second'`],
    ['all at once', `date_trunc('hour', now()) - interval '2 hours'`],
  ])('and must stay: does not hide any that may go, %s', async (_when, expiresAt) => {
    await insert['refresh_tokens']!(BATCH + 500, expiresAt);
    await sql(`UPDATE refresh_tokens SET signed_out_at = now()`);
    await insert['refresh_tokens']!(5, `now() - interval '5 hours'`);
    await insert['refresh_tokens']!(5, `now() - interval '10 seconds'`);
    expect(await removal.run()).toEqual({ refresh_tokens: 10 });
    expect(await count('refresh_tokens')).toBe(BATCH + 500);
  });
});

describe('beside others', () => {
  async function connected<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const client = new Client(service.databaseUrl);
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }

  it('two instances at once: all is removed, each row once, without an error', async () => {
    const second = await startTestService({ DATABASE_URL: service.databaseUrl });
    try {
      const rows = 20 * BATCH;
      await insert['access_tokens']!(rows, `now() - i * interval '1 ms'`);
      const warn = jest.spyOn(Logger.prototype, 'warn');
      const runs = await Promise.all([removal.run(), second.app.get(Removal).run()]);
      expect(runs.reduce((sum, { access_tokens = 0 }) => sum + access_tokens, 0)).toBe(rows);
      expect(await count('access_tokens')).toBe(0);
      expect(warn).not.toHaveBeenCalled();
      warn.mockRestore();
    } finally {
      await second.close();
    }
  });

  const text = (table: string): string =>
    removedFrom().find((rows) => rows.table === table)!.removeBatch.text;
  /** As another instance does, in the middle of a batch. */
  async function takeBatch(client: Client, table: string): Promise<Batch> {
    await client.query('BEGIN');
    return (await client.query<Batch>(text(table), ['-infinity'])).rows[0]!;
  }

  it.each(TABLES.filter((table) => table !== 'refresh_tokens'))(
    '%s: while another instance has a batch, this one removes the other rows; a third removes none',
    async (table) => {
      await insert[table]!(BATCH + 5, `now() - i * interval '1 second'`);
      await connected(async (one) => {
        expect(await takeBatch(one, table)).toMatchObject({ seen: BATCH, removed: BATCH });
        await connected(async (two) => {
          expect(await takeBatch(two, table)).toMatchObject({ seen: 5, removed: 5 });
          expect(await removal.run()).toEqual({});
          await two.query('ROLLBACK');
        });
        expect(await removal.run()).toEqual({ [table]: 5 });
        await one.query('ROLLBACK');
      });
      expect(await removal.run()).toEqual({ [table]: BATCH });
    },
  );

  it('sessions, of which some must stay: while another instance is at it, this one looks at none', async () => {
    await insert['refresh_tokens']!(BATCH + 5, `now() - i * interval '1 minute'`);
    await connected(async (client) => {
      expect(await takeBatch(client, 'refresh_tokens')).toMatchObject({ seen: BATCH, removed: BATCH });
      expect(await removal.run()).toEqual({});
      await client.query('COMMIT');
    });
    expect(await removal.run()).toEqual({ refresh_tokens: 5 });
  });

  it('a table that others are at keeps no other waiting', async () => {
    for (const table of TABLES) await insert[table]!(3, `now() - interval '1 minute'`);
    await connected(async (client) => {
      const [last, ...others] = TABLES.toReversed();
      await client.query('SELECT pg_advisory_lock($1, hashtext($2)), pg_advisory_lock($1, hashtext($3))', [
        REMOVAL_LOCK,
        `${last} 0`,
        `${last} 1`,
      ]);
      expect(await removal.run()).toEqual(Object.fromEntries(others.map((table) => [table, 3])));
    });
  });

  it('access tokens wait for no other table, however much there is of it', async () => {
    jest.useFakeTimers();
    try {
      const asked: string[] = [];
      const ask = ({ name }: { name: string }) => {
        asked.push(name);
        if (name !== 'remove-expired-access_tokens') return new Promise(() => undefined); // without end
        return Promise.resolve([{ seen: 0, removed: 0, next: null }]);
      };
      const alone = new Removal({ query: ask } as unknown as Sql, service.app.get(DataSource), new Events());
      alone.onApplicationBootstrap();
      await jest.advanceTimersByTimeAsync(4 * 40_000);
      const others = asked.filter((name) => name !== 'remove-expired-access_tokens');
      expect(others).toHaveLength(1);
      expect(asked.length - others.length).toBeGreaterThanOrEqual(4);
    } finally {
      jest.useRealTimers();
    }
  });

  it('a row that somebody has locked is left for the next time', async () => {
    await insert['authorization_states']!(3, `now() - interval '1 minute'`);
    await connected(async (client) => {
      await client.query('BEGIN');
      await client.query('SELECT FROM authorization_states LIMIT 1 FOR UPDATE');
      expect(await removal.run()).toEqual({ authorization_states: 2 });
    });
    expect(await removal.run()).toEqual({ authorization_states: 1 });
  });

  it('a row that cannot be removed is passed over, and all others go', async () => {
    await insert['sample_codes']!(1500, `now() - i * interval '1 s'`);
    const [stuck] = await sql('SELECT encode(code_hash, $1) AS hash FROM sample_codes OFFSET 700 LIMIT 1', [
      'hex',
    ]);
    const hash = stuck!['hash'] as string;
    await sql(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$`);
    await sql(
      `CREATE TRIGGER refuse BEFORE DELETE ON sample_codes FOR EACH ROW
       WHEN (OLD.code_hash = decode('${hash}', 'hex')) EXECUTE FUNCTION refuse()`,
    );
    expect(await removal.run()).toMatchObject({ sample_codes: 1499 });
    expect(await sql(`SELECT encode(code_hash, 'hex') AS hash FROM sample_codes`)).toEqual([{ hash }]);
    await sql('DROP FUNCTION refuse CASCADE');
    expect(await removal.run()).toMatchObject({ sample_codes: 1 });
  });

  it('a table that fails causes a warning, and does not delay the others', async () => {
    for (const table of TABLES) await insert[table]!(1, `now() - interval '1 minute'`);
    const warn = jest.spyOn(Logger.prototype, 'warn');
    await connected(async (client) => {
      await client.query('BEGIN; LOCK TABLE sample_codes');
      const others = TABLES.filter((table) => table !== 'sample_codes').map((table) => [table, 1]);
      expect(await removal.run()).toEqual(Object.fromEntries(others));
      // Where the client's own time was over first, the statement must not go on once the lock is gone.
      await until(async () => (await sql(WAITING)).length === 0);
    });
    expect(warn.mock.calls).toEqual([[expect.objectContaining({ table: 'sample_codes' })]]);
    warn.mockRestore();
    expect(await removal.run()).toEqual({ sample_codes: 1 });
  });
});

const ROWS = 30_000;

describe(`${ROWS} expired rows`, () => {
  it('are removed in short statements and bounded memory', async () => {
    await insert['access_tokens']!(ROWS, `now() - i * interval '1 ms'`);
    await insert['access_tokens']!(BATCH, `now() + interval '1 hour'`);
    setFlagsFromString('--expose-gc');
    const gc = runInNewContext('gc') as () => void;
    const heap = (): number => {
      gc();
      return process.memoryUsage().heapUsed;
    };

    const database = service.app.get(Sql);
    const statements: number[] = []; // ms of each
    let looking = 0; // ms in the garbage collector
    const before = heap();
    let peak = before;
    const ask = database.query.bind(database);
    const spy = jest.spyOn(database, 'query').mockImplementation(async (statement, values) => {
      const began = performance.now();
      const rows = await ask(statement, values);
      statements.push(performance.now() - began);
      expect((rows[0] as unknown as Batch).seen).toBeLessThanOrEqual(BATCH);
      const ended = performance.now();
      if (statements.length % 20 === 0) peak = Math.max(peak, heap());
      looking += performance.now() - ended;
      return rows;
    });
    const began = performance.now();
    try {
      expect(await removal.run()).toEqual({ access_tokens: ROWS });
    } finally {
      spy.mockRestore();
    }
    const work = statements.reduce((sum, ms) => sum + ms, 0);
    const resting = performance.now() - began - work - looking;

    expect(await count('access_tokens')).toBe(BATCH);
    expect(statements.length).toBeGreaterThanOrEqual(ROWS / BATCH);
    // A row costs as much in the last statements as in the first ones, whatever this machine does beside them.
    const some = Math.floor(statements.length / 3);
    expect(median(statements.slice(-some))).toBeLessThan(5 * median(statements.slice(0, some)) + 10);
    // And not much more than in one statement for all of them, where there are so many that its own cost does not count.
    // It pauses as long as it works; on a busy machine this process measures more of the work than the removal does.
    expect(resting).toBeGreaterThan(work / 10);
    expect(resting).toBeLessThan(3 * work + 20 * statements.length);
    expect((peak - before) / 2 ** 20).toBeLessThan(8); // MiB
  }, 300_000);

  function median(values: readonly number[]): number {
    return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]!;
  }

  it.each(TABLES)('are found by their index: %s', async (table) => {
    const { removeBatch } = removedFrom().find((rows) => rows.table === table)!;
    await insert[table]!(20_000, `now() + i * interval '1 second'`);
    await sql(`ANALYZE ${table}`);
    const plan = await sql(`EXPLAIN ${removeBatch.text.replace('$1', `'-infinity'`)}`);
    const lines = plan.map((row) => String(row['QUERY PLAN'])).join('\n');
    expect(lines).toContain(`Index Scan using ${table}_expires_at`);
    expect(lines).not.toContain(`Seq Scan on ${table}`);
  });
});

import { inspect } from 'node:util';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { Background } from '../../src/platform/background.js';
import { Events } from '../../src/platform/events.js';
import {
  BATCH,
  expiringTables,
  buildRemoval,
  REMOVAL_LOCK,
} from '../../src/operations/removal/expired-rows.js';
import { TimeSlices } from '../../src/citus/stores.js';
import { Removal } from '../../src/operations/removal/removal.js';
import { query } from '../support/database.js';
import { startTestService } from '../support/service.js';
import { until } from '../support/waiting.js';
import { prepare, use } from '../support/use.js';

const KEPT = { auditRetentionDays: 90 };

const service = use(async () => {
  const timer = jest.spyOn(Removal.prototype, 'onApplicationBootstrap').mockReturnValue(); // tests call run()
  const started = await startTestService({}, { hasOwnLimits: true });
  timer.mockRestore();
  return started;
});
const removal = prepare(() => service.app.get(Removal));
afterEach(() => jest.restoreAllMocks());

function sql(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  return query(service.databaseUrl, text, values);
}

/** The implementation for Citus, on a plain database. */
function sliced(): Removal {
  const dataSource = service.app.get(DataSource);
  return new Removal(new TimeSlices(dataSource), dataSource, new Events(), KEPT, service.app.get(Background));
}

async function connected<T>(work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(service.databaseUrl);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function count(table: string): Promise<number> {
  const [row] = await sql(`SELECT count(*)::int AS count FROM ${table}`);
  return row!['count'] as number;
}

const UUID = 'gen_random_uuid()';
const HASH = `uuid_send(${UUID})`;
/** Required columns of each table, with SQL for their values; `i` is 1 … rows. */
const COLUMNS: Record<string, Record<string, string>> = {
  access_tokens: { user_id: UUID, jti: UUID, session_id: UUID, token: `repeat('t', 600)` },
  authorization_states: { state_hash: HASH, provider: `'stub'`, redirect_uri: `'https://app.example'` },
  sample_codes: { code_hash: HASH, client_id: `'l'`, redirect_uri: `'r'`, provider_user_id: `'ada'` },
  authorization_codes: {
    code_hash: HASH,
    client_id: `'app'`,
    redirect_uri: `'r'`,
    code_challenge: `'-'`,
    user_id: UUID,
    provider: `'stub'`,
    identity: `'{}'`,
    requested_at: 'now()',
  },
  logout_tokens: { token_hash: HASH },
  refresh_tokens: { user_id: UUID, session_id: UUID, token_hash: `'\\x00'` },
  provider_checks: { user_id: UUID, provider: `'corp'`, refresh_token: `'\\x00'` },
  channel_events: {
    user_id: UUID,
    event_offset: 'i',
    id: UUID,
    event: `'e'`,
    data: `'{}'`,
    sent_at: 'now()',
  },
  idempotency_keys: { key_hash: HASH, body_hash: `'\\x00'` },
  device_requests: {
    id: UUID,
    device_code_hash: HASH,
    user_code_hash: HASH,
    client_id: `'cli'`,
    network: HASH,
    poll_interval: '5',
    codes_expire_at: 'now()',
  },
  device_confirmations: {
    secret_hash: HASH,
    request_id: UUID,
    provider: `'stub'`,
    identity: `'{}'`,
    requested_at: 'now()',
  },
  agent_requests: {
    id_hash: HASH,
    browser_hash: HASH,
    client_id: `'agent'`,
    client_name: `'Agent'`,
    authentication: `'{}'`,
    redirect_uri: `'r'`,
    code_challenge: `'-'`,
    resource: `'https://api.example'`,
    scope: `'read'`,
    passed: `'{}'`,
    device_id: UUID,
  },
  agent_assertions: { id_hash: HASH },
  signal_accounts: { subject: HASH, disabled: 'false', changed_at: 'now()' },
  void_claims: { user_id: UUID, voided_at: 'now()' },
};
const TABLES = Object.keys(COLUMNS);

/** @param expiresAt SQL expression */
function insert(table: string, rows: number, expiresAt: string): Promise<unknown> {
  const columns = { ...COLUMNS[table], expires_at: expiresAt };
  return sql(
    `INSERT INTO ${table} (${Object.keys(columns).join(', ')})
     SELECT ${Object.values(columns).join(', ')} FROM generate_series(1, $1) i`,
    [rows],
  );
}

beforeEach(() => sql(`TRUNCATE ${TABLES.join(', ')}`));

describe('expired rows', () => {
  it('are removed from every table that has an expiry', async () => {
    const rows = await sql(
      `SELECT table_name FROM information_schema.columns
       WHERE table_schema = 'public' AND column_name = 'expires_at'`,
    );
    const tables = new Set(rows.map((row) => row['table_name']));
    const expiring = expiringTables(service.app.get(DataSource), KEPT).map(({ table }) => table);
    expect(new Set(expiring)).toEqual(new Set([...tables, 'audit_events']));
    expect(new Set(TABLES)).toEqual(tables); // so the tests below cover all of them
  });

  describe.each([
    ['', () => removal],
    [', in slices of time, as on Citus', sliced],
  ])('are removed%s', (_how, which) => {
    it.each(TABLES)('%s: all expired rows, also many with one expiry, and no other row', async (table) => {
      await insert(table, 2 * BATCH + 1, `date_trunc('minute', now()) - interval '1 hour'`);
      await insert(table, 3, `now() - i * interval '10 seconds'`);
      await insert(table, 2, `now() + i * interval '10 seconds'`);
      expect(await which().run()).toEqual({ [table]: 2 * BATCH + 4 });
      expect(await count(table)).toBe(2);
    });
  });

  it.each([
    ['', () => removal],
    [', in slices of time, as on Citus', sliced],
  ])('audit events are removed after 90 days, and not before%s', async (_how, which) => {
    await sql('TRUNCATE audit_events');
    await sql(
      `INSERT INTO audit_events (user_id, at, id, event, result, actor_type)
       SELECT gen_random_uuid(), now() - interval '89 days 23 hours' - i * interval '4 minutes', gen_random_uuid(),
         'sign_in', 'ok', 'user' FROM generate_series(1, 30) i`,
    );
    expect(await which().run()).toEqual({ audit_events: 16 });
    expect(await count('audit_events')).toBe(14);
  });

  it('are found by their index', async () => {
    await connected(async (client) => {
      await client.query('SET enable_seqscan = off; SET enable_bitmapscan = off');
      for (const table of expiringTables(service.app.get(DataSource), KEPT)) {
        const { text } = buildRemoval(table);
        const { rows } = await client.query<{ 'QUERY PLAN': string }>(
          `EXPLAIN ${text.replace('$1', `'-infinity'`)}`,
        );
        const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
        expect(plan).toContain(`Index Scan using ${table.table}_${table.column ?? 'expires_at'}`);
      }
    });
  });
});

describe('a session that has ended', () => {
  const HOUR = `interval '1 hour'`;
  const insertToken = (session: string): Promise<unknown> =>
    sql(
      `INSERT INTO access_tokens (user_id, jti, session_id, expires_at, token)
       SELECT user_id, gen_random_uuid(), ${session}, now() + ${HOUR}, 't' FROM refresh_tokens`,
    );

  it('by expiry: stays until its last access token has expired', async () => {
    await insert('refresh_tokens', 1, `now() - ${HOUR}`);
    await insertToken('session_id');
    expect(await removal.run()).toEqual({});
    expect(await sliced().run()).toEqual({});
    await sql(`UPDATE access_tokens SET expires_at = now()`);
    expect(await removal.run()).toEqual({ access_tokens: 1, refresh_tokens: 1 });
  });

  describe.each([
    ['', () => removal],
    [', as on Citus', sliced],
  ])('may go, or stays%s', (_how, which) => {
    it.each<
      [
        string,
        expired: string,
        signedOut: string | null,
        token: 'none' | 'its own' | 'another',
        removed: number,
      ]
    >([
      ['that expires', '1 second', null, 'none', 0], // a refresh may be under way
      ['that has expired', '6 seconds', null, 'none', 1],
      ['that has expired, while its last access token lives', '1 day', null, 'its own', 0],
      ['that has expired, while a token of another one lives', '1 day', null, 'another', 1],
      ['that was signed out, while others may hold its token', '61 minutes', '60 minutes', 'none', 0],
      ['that was signed out longer ago than a token can live', '62 minutes', '62 minutes', 'none', 1],
      ['that had expired before it was signed out', '2 days', '60 minutes', 'none', 0],
      ['that was signed out, while a token is stored', '62 minutes', '62 minutes', 'its own', 0],
    ])('%s', async (_name, expired, signedOut, token, removed) => {
      await insert('refresh_tokens', 1, `now() - interval '${expired}'`);
      await sql(`UPDATE refresh_tokens SET signed_out_at = now() - $1::interval`, [signedOut]);
      if (token !== 'none') await insertToken(token === 'its own' ? 'session_id' : 'gen_random_uuid()');
      expect((await which().run())['refresh_tokens'] ?? 0).toBe(removed);
    });
  });

  it.each([
    ['at different times', `now() - i * interval '1 second'`],
    ['at one time', `date_trunc('hour', now()) - interval '2 hours'`],
  ])('and must stay: hides none that may be removed (ended %s)', async (_when, expiresAt) => {
    await insert('refresh_tokens', BATCH + 500, expiresAt);
    await sql(`UPDATE refresh_tokens SET signed_out_at = now()`);
    await insert('refresh_tokens', 5, `now() - interval '5 hours'`);
    await insert('refresh_tokens', 5, `now() - interval '10 seconds'`);
    expect(await removal.run()).toEqual({ refresh_tokens: 10 });
    expect(await count('refresh_tokens')).toBe(BATCH + 500);
  });
});

describe('concurrently', () => {
  it('two instances: all rows are removed, each once, without a warning', async () => {
    const rows = 5 * BATCH;
    await insert('access_tokens', rows, `now() - i * interval '1 ms'`);
    const warn = jest.spyOn(Logger.prototype, 'warn');
    const runs = await Promise.all([removal.run(), sliced().run(), removal.run()]);
    const left = await removal.run();
    expect([...runs, left].reduce((sum, { access_tokens = 0 }) => sum + access_tokens, 0)).toBe(rows);
    expect(await count('access_tokens')).toBe(0);
    // A busy machine may take too long to connect; the next run removes what such a run has left.
    const said = warn.mock.calls.filter(
      ([line]) => !inspect(line).includes('no connection to the database within'),
    );
    expect(said).toEqual([]);
  });

  it('a table that another instance is removing from is left out; the others are not', async () => {
    for (const table of TABLES) await insert(table, 3, `now() - interval '1 minute'`);
    await connected(async (client) => {
      const [locked, ...others] = TABLES.toReversed();
      await client.query('SELECT pg_advisory_lock($1, hashtext($2))', [REMOVAL_LOCK, locked]);
      expect(await sliced().run([{ table: locked!, key: '' }])).toEqual({});
      expect(await removal.run()).toEqual(Object.fromEntries(others.map((table) => [table, 3])));
    });
  });

  it('a row that a transaction has locked is left for the next run', async () => {
    await insert('authorization_states', 3, `now() - interval '1 minute'`);
    await connected(async (client) => {
      await client.query('BEGIN');
      await client.query('SELECT FROM authorization_states LIMIT 1 FOR UPDATE');
      expect(await removal.run()).toEqual({ authorization_states: 2 });
    });
    expect(await removal.run()).toEqual({ authorization_states: 1 });
  });

  it('a locked table causes a warning, and the other tables do not wait', async () => {
    for (const table of TABLES) await insert(table, 1, `now() - interval '1 minute'`);
    const warn = jest.spyOn(Logger.prototype, 'warn');
    await connected(async (client) => {
      await client.query('BEGIN; LOCK TABLE sample_codes');
      const others = TABLES.filter((table) => table !== 'sample_codes').map((table) => [table, 1]);
      expect(await removal.run()).toEqual(Object.fromEntries(others));
      // If the client timed out first, the server must cancel the statement as well.
      const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      await until(async () => (await sql(waiting)).length === 0);
    });
    expect(warn.mock.calls).toEqual([[expect.objectContaining({ table: 'sample_codes' })]]);
    expect(await removal.run()).toEqual({ sample_codes: 1 });
  });
});

describe('a row that cannot be removed', () => {
  const TRIGGER = (table: string, fault: string): string => `
    CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF OLD.expires_at < now() - interval '2 hours' THEN ${fault}; END IF;
      RETURN OLD;
    END $$;
    CREATE TRIGGER refuse BEFORE DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION refuse()`;
  afterEach(() => sql('DROP FUNCTION refuse CASCADE'));

  it.each([
    ['takes too long', 'idempotency_keys', 'PERFORM pg_sleep(3)', () => removal],
    ['is refused', 'refresh_tokens', `RAISE EXCEPTION 'no'`, () => removal],
    ['is refused on Citus', 'idempotency_keys', `RAISE EXCEPTION 'no'`, sliced],
  ])('because it %s is skipped with a warning; all others go', async (_why, table, fault, which) => {
    await insert(table, 1, `now() - interval '3 hours'`);
    await insert(table, 1500, `now() - i * interval '1 s'- interval '1 minute'`);
    await sql(TRIGGER(table, fault));
    const warn = jest.spyOn(Logger.prototype, 'warn');
    expect(await which().run()).toEqual({ [table]: 1500 });
    expect(await count(table)).toBe(1);
    expect(warn.mock.calls).toEqual([[expect.objectContaining({ table })]]);
  });
});

import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { freePort } from '../support/free-port.js';
import { targetOf } from '../../src/platform/database/pool/connection-target.js';
import { migrate, type MigrationOptions } from '../../src/platform/database/start/migrate.js';
import type { RetryOptions } from '../../src/platform/database/start/retry.js';
import { createEmptyDatabase, query as queryAt } from '../support/database.js';
import { waiting, until } from '../support/waiting.js';
import { useEach } from '../support/use.js';

/** A migration of some statements. */
function migrationOf(name: string, statements: readonly string[], transaction = true) {
  return class implements MigrationInterface {
    name = name;
    transaction = transaction;

    async up(runner: QueryRunner): Promise<void> {
      for (const statement of statements) await runner.query(statement);
    }

    async down(): Promise<void> {}
  };
}

/** Fails when it is applied twice, and takes longer than a request may. */
const Slow = migrationOf('Slow1700000000001', [
  'CREATE TABLE applied (name text)',
  'SELECT pg_sleep(0.4)',
  `INSERT INTO applied VALUES ('slow')`,
]);
// PostgreSQL refuses CREATE INDEX CONCURRENTLY inside of a transaction.
const INDEX = 'CREATE INDEX CONCURRENTLY applied_name ON applied (name)';
const Concurrent = migrationOf('Concurrent1700000000002', [INDEX], false);
const Broken = migrationOf('Broken1700000000003', ['CREATE TABLE half_done (id int)', 'SELECT broken']);
const Altering = migrationOf('Altering1700000000004', ['ALTER TABLE applied ADD COLUMN age int']);
const Before = migrationOf('Before1700000000003', ['CREATE TABLE earlier (id int)']);
let log: string[];
let proxy: Server | undefined;

afterEach(() => {
  proxy?.close();
  proxy = undefined;
});

const database = useEach(() => createEmptyDatabase());
beforeEach(() => {
  log = [];
});

function options(url: string, ...more: (new () => MigrationInterface)[]): MigrationOptions {
  return {
    type: 'postgres',
    pooler: 'session',
    migrations: [Slow, ...more],
    connectTimeoutMS: 200,
    extra: { Client: targetOf(() => url, 'session').Client, statement_timeout: 100, query_timeout: 100 }, // shorter than that of any request
  };
}

const query = (sql: string): Promise<Record<string, unknown>[]> => queryAt(database.url, sql);
const write = (line: string) => void log.push(line);

function retries(more: Partial<RetryOptions> = {}): RetryOptions {
  return { timeoutMs: 30_000, signal: new AbortController().signal, log: write, ...more };
}

describe('migrate', () => {
  it('applies each migration once for many instances, without a time-out', async () => {
    const instances = Array.from({ length: 4 }, () => migrate(options(database.url, Concurrent), retries()));
    await Promise.all(instances);
    expect(await query('SELECT name FROM applied')).toEqual([{ name: 'slow' }]);
    expect(await query('SELECT name FROM migrations ORDER BY id')).toEqual([
      { name: 'Slow1700000000001' },
      { name: 'Concurrent1700000000002' },
    ]);
    expect(log).toEqual([]);
  });

  it('leaves nothing of a migration that fails, and no lock', async () => {
    await expect(migrate(options(database.url, Broken), retries())).rejects.toThrow(/broken/);
    expect(await query(`SELECT to_regclass('half_done') AS half_done`)).toEqual([{ half_done: null }]);
    expect(await query(`SELECT to_regclass('applied') AS of_a_new_database`)).toEqual([
      { of_a_new_database: null },
    ]);
    await migrate(options(database.url, Concurrent), retries());
  });

  it('holds its lock to the end without blocking others, for any defaults of the database', async () => {
    const name = new URL(database.url).pathname.slice(1);
    const [{ version }] = (await query(`SELECT current_setting('server_version_num') AS version`)) as [
      { version: string },
    ];
    const timeouts = ['statement_timeout', 'idle_in_transaction_session_timeout', 'lock_timeout'];
    if (Number(version) >= 170_000) timeouts.push('transaction_timeout');
    for (const timeout of timeouts) await query(`ALTER DATABASE ${name} SET ${timeout} = 300`);
    await query(`ALTER DATABASE ${name} SET default_transaction_isolation = 'repeatable read'`);
    await migrate(options(database.url, Concurrent), retries());
  });

  it('applies only what the database lacks, and returns the migrations of a newer version', async () => {
    await migrate(options(database.url), retries());
    expect(await migrate(options(database.url, Concurrent), retries())).toEqual([]);
    expect(await query('SELECT count(*)::int AS count FROM migrations')).toEqual([{ count: 2 }]);
    expect(await migrate(options(database.url), retries())).toEqual(['Concurrent1700000000002']);
    const others = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`;
    await until(async () => (await query(others)).length === 0); // no connection is left
  });
});

describe('a locked table', () => {
  beforeEach(() => migrate(options(database.url), retries()));
  const holder = useEach(
    () => new Client(database.url),
    (one) => one.end(),
  );
  beforeEach(() => holder.connect());

  const hold = (mode: string) => holder.query(`BEGIN; LOCK TABLE applied IN ${mode} MODE`);
  const altered = `SELECT FROM information_schema.columns WHERE table_name = 'applied' AND column_name = 'age'`;

  /** Returns the longest wait of a statement of the service during the work. */
  async function longestWrite(work: Promise<unknown>): Promise<number> {
    let longest = 0;
    const ended = new AbortController();
    const end = (): void => ended.abort();
    work.then(end, end);
    const client = new Client(database.url);
    await client.connect();
    while (!ended.signal.aborted) {
      const began = performance.now();
      await client.query(`UPDATE applied SET name = 'changed'`);
      longest = Math.max(longest, performance.now() - began);
      await delay(5);
    }
    await client.end();
    return longest;
  }

  it('for reading: no other statement waits for long', async () => {
    await hold('ACCESS SHARE');
    const migration = migrate(options(database.url, Altering), retries());
    const longest = longestWrite(migration);
    expect(await waiting(database.url, 1, migration)).toBe(true);
    await delay(1500);
    await holder.query('COMMIT');
    await migration;
    expect(await query(altered)).toHaveLength(1);
    expect(await longest).toBeLessThan(1000);
    expect(log).toEqual([expect.stringContaining('migration Altering1700000000004 did not get its locks')]);
  });

  it('beyond the time-out: an error with advice, and no changes', async () => {
    await hold('ACCESS SHARE');
    const migration = migrate(options(database.url, Altering), retries({ timeoutMs: 300 }));
    await expect(migration).rejects.toThrow(
      /Altering1700000000004 did not get its locks, nothing of it was applied: end what holds a table/,
    );
    const stop = new AbortController(); // an aborted start does not wait
    const aborted = migrate(
      options(database.url, Altering),
      retries({ signal: stop.signal, log: () => stop.abort() }),
    );
    await expect(aborted).rejects.toMatchObject({ name: 'AbortError' });
    expect(await query(altered)).toEqual([]);
    await holder.query('COMMIT');
    await migrate(options(database.url, Altering), retries());
  });

  it('keeps no locks of the migrations before it', async () => {
    await hold('ACCESS SHARE');
    const both = options(database.url, Before, Altering);
    await expect(migrate(both, retries({ timeoutMs: 300 }))).rejects.toThrow(/Altering1700000000004 did not/);
    expect(await query(`SELECT to_regclass('earlier') IS NOT NULL AS is_there`)).toEqual([
      { is_there: true },
    ]);
  });

  it('delays a migration outside of a transaction, which would leave an invalid index', async () => {
    await hold('ROW EXCLUSIVE');
    const migration = migrate(options(database.url, Concurrent), retries());
    expect(await waiting(database.url, 1, migration)).toBe(true);
    await delay(400);
    await holder.query('COMMIT');
    await migration;
    expect(await query(`SELECT FROM pg_index WHERE NOT indisvalid`)).toEqual([]);
  });
});

describe('an unreachable database', () => {
  it('is retried, with one line in the log', async () => {
    const target = new URL(database.url);
    const port = await freePort();
    const late = new URL(database.url);
    late.port = String(port);
    const begin = (line: string): void => {
      write(line);
      proxy = createServer((socket) => {
        const upstream = connect(Number(target.port), target.hostname);
        socket.pipe(upstream).pipe(socket);
      }).listen(port, '127.0.0.1');
    };
    await migrate(options(late.href), retries({ log: begin }));
    expect(log).toEqual([
      expect.stringContaining(`waiting for the database: no database at 127.0.0.1:${port}`),
    ]);
    expect(await query('SELECT name FROM applied')).toEqual([{ name: 'slow' }]);
  });

  it.each(['refuses connections', 'never answers'])(
    'that %s causes an error after the time-out',
    async (how) => {
      const port = await freePort();
      if (how === 'never answers') {
        proxy = createServer().listen(port, '127.0.0.1');
        await once(proxy, 'listening');
      }
      const url = `postgres://someone:hunter2@127.0.0.1:${port}/x`;
      const error = await migrate(options(url), retries({ timeoutMs: 300 })).catch(String);
      expect(error).toContain(`no database at 127.0.0.1:${port}`);
      expect(JSON.stringify([error, log])).not.toContain('hunter2');
    },
  );

  it('is not retried if it refuses the password', async () => {
    const wrong = new URL(database.url);
    wrong.password = 'hunter2';
    const failure = migrate(options(wrong.href), retries());
    await expect(failure).rejects.toMatchObject({
      code: '28P01',
      message: expect.not.stringContaining('hunter2'),
    });
    expect(log).toEqual([]);
  });
});

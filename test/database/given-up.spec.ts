import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { dataSourceOptions, poolOf } from '../../src/platform/database/pool/data-source.js';
import { isDatabaseAway } from '../../src/platform/errors/database-error.js';
import { createEmptyDatabase, type TestDatabase, UNHURRIED_MS, query } from '../support/database.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/waiting.js';

const SIZE = 2;
const TIMEOUT_MS = 500; // before `statement_timeout`
const TURN_MS = 100;

/** A time-out closes the connection; `statement_timeout` ends the statement on the server. */
describe('a statement that times out', () => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  let dataSource: DataSource;
  let pool: Pool;

  beforeAll(async () => {
    database = await createEmptyDatabase();
    proxy = await TcpProxy.before(database.url);
    const behind = new URL(database.url);
    behind.port = String(proxy.port);
    const options = dataSourceOptions(behind.href, SIZE);
    const extra: object = { ...options.extra, query_timeout: TIMEOUT_MS };
    dataSource = await new DataSource({ ...options, connectTimeoutMS: UNHURRIED_MS, extra }).initialize();
    pool = poolOf(dataSource);
    await query(database.url, 'CREATE TABLE rows (n int PRIMARY KEY)');
  });
  afterAll(async () => {
    await proxy.refuse(); // also if a test has failed: the pool waits for its connections
    await dataSource.destroy();
    await database.close();
  });

  /** The backends of the pool, oldest first. */
  const backends = (): Promise<{ pid: number; state: string; query: string }[]> =>
    query(
      database.url,
      `SELECT pid, state, query FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'latchkey' ORDER BY backend_start`,
    );
  const sleepers = async (): Promise<number> =>
    (await backends()).filter(({ state, query: text }) => state === 'active' && text.includes('pg_sleep'))
      .length;
  const asleep = () => pool.query('SELECT pg_sleep(60)');

  it('ends on the server with its transaction, and its connection is never used again', async () => {
    const work = dataSource.transaction(async (manager) => {
      await manager.query('INSERT INTO rows VALUES (1)');
      await manager.query('SELECT pg_sleep(60)');
    });
    const error = await work.catch((thrown: unknown) => thrown);
    expect(isDatabaseAway(error)).toBe(true);
    const used = (await backends()).map(({ pid }) => pid);
    await until(async () => (await sleepers()) === 0);
    const answer = await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    expect(used).not.toContain(answer.rows[0]!.pid);
    expect(await query(database.url, 'SELECT * FROM rows')).toEqual([]);
  });

  it('is not followed by the next statement of its connection', async () => {
    const client = await pool.connect();
    const [{ pid }] = (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows as [
      { pid: number },
    ];
    const both = [client.query('SELECT pg_sleep(60)'), client.query('INSERT INTO rows VALUES (3)')];
    for (const one of await Promise.allSettled(both)) {
      expect(one.status === 'rejected' && isDatabaseAway(one.reason)).toBe(true);
    }
    client.release(true);
    await until(async () => !(await backends()).some((one) => one.pid === pid));
    expect(await query(database.url, 'SELECT * FROM rows')).toEqual([]);
  });

  it('is not one with an answer that came while the event loop was busy', async () => {
    const options = dataSourceOptions(database.url, 1); // not through the proxy, which runs in this process
    const extra: object = { ...options.extra, query_timeout: TIMEOUT_MS };
    const direct = await new DataSource({ ...options, extra }).initialize();
    for (const ask of [() => poolOf(direct).query('SELECT 1'), () => direct.query('SELECT 1')]) {
      const asked = ask();
      await new Promise(setImmediate); // it is sent
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * TIMEOUT_MS);
      await expect(asked).resolves.toBeDefined();
    }
    await direct.destroy();
  });

  it('is not one that waits for a connection while the event loop is busy', async () => {
    const options = dataSourceOptions(database.url, 1);
    const busy = await new DataSource({ ...options, connectTimeoutMS: 4 * TURN_MS }).initialize();
    (await poolOf(busy).connect()).release(true); // the next one needs a new connection
    const asked = [poolOf(busy).query('SELECT 1'), busy.query('SELECT 1')];
    let turns = 0;
    const keepBusy = (): void => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, TURN_MS);
      if (++turns < 8) setImmediate(keepBusy);
    };
    setImmediate(keepBusy);
    for (const one of asked) await expect(one).resolves.toBeDefined();
    expect(turns).toBeGreaterThan(4); // longer than the limit
    await busy.destroy();
  });

  it('is not one that pg refuses to send', async () => {
    const client = await pool.connect();
    const callback = jest.fn();
    expect(() => client.query(null as unknown as string, [], callback)).toThrow(TypeError);
    await delay(TIMEOUT_MS + 100);
    expect(callback).not.toHaveBeenCalled();
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    client.release();
  });

  const WARN = `DO $$ BEGIN RAISE WARNING 'canceling wait for synchronous replication due to user request'; END $$`;

  it('a commit that has not waited for the standby fails, and the next one succeeds', async () => {
    for (const work of [pool.query(WARN), dataSource.query(WARN)]) {
      expect(isDatabaseAway(await work.catch((thrown: unknown) => thrown))).toBe(true);
    }
    for (let i = 0; i < SIZE + 1; i++) await expect(pool.query('SELECT 1')).resolves.toBeDefined();
  });

  it('a transaction that loses its connection between two statements may be retried', async () => {
    const work = dataSource.transaction(async (manager) => {
      const [own] = await manager.query<{ pid: number }[]>('SELECT pg_backend_pid() AS pid');
      await query(database.url, `SELECT pg_terminate_backend(${own!.pid})`);
      await until(() => manager.queryRunner!.isReleased);
      await manager.query('INSERT INTO rows VALUES (1)');
    });
    const error = await work.catch((thrown: unknown) => thrown);
    expect([isDatabaseAway(error), String(error)]).toEqual([true, expect.stringContaining('released')]);
  });

  it('holds no connection of the pool while the server does not answer', async () => {
    const clients = await Promise.all(Array.from({ length: SIZE }, () => pool.connect()));
    for (const client of clients) client.release();
    proxy.blackhole();
    const outcomes = await Promise.allSettled(Array.from({ length: SIZE }, asleep));
    expect(outcomes.map(({ status }) => status)).toEqual(Array(SIZE).fill('rejected'));
    expect(pool.totalCount).toBe(0);
    await proxy.restore(); // which closes the connections
    await expect(pool.query('SELECT 1')).resolves.toBeDefined();
  });
});

import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { Clock } from '../src/database/clock.js';
import { dataSourceOptions } from '../src/database/data-source.js';
import { Sql } from '../src/database/sql.js';
import { stoodStillSince, timeNow } from '../src/database/standstill.js';
import { isDatabaseAway } from '../src/errors/database-error.js';
import { createEmptyDatabase, type TestDatabase } from './support/database.js';

const STANDSTILL_MS = 1300;

/** What the machine of a service does that is paused, or whose processors others have: nothing of this process goes on. */
function standStill(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STANDSTILL_MS);
}

/** More than a second without this process, while PostgreSQL goes on: longer than any limit, and nobody's fault. */
describe('a process that stood still', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let pool: Pool;

  beforeAll(async () => {
    database = await createEmptyDatabase();
    dataSource = await new DataSource(dataSourceOptions(database.url, 1)).initialize();
    pool = (dataSource.driver as PostgresDriver).master as Pool;
  });
  afterAll(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  it.each<[string, () => Promise<unknown>]>([
    ['by the pool', () => pool.query('SELECT 1')],
    ['by a repository', () => dataSource.query('SELECT 1')],
  ])('gets the answer to a statement that was sent before, %s', async (_name, ask) => {
    await pool.query('SELECT 1'); // there is a connection
    const asked = ask();
    await new Promise(setImmediate); // it is sent
    standStill();
    await expect(asked).resolves.toBeDefined();
  });

  it('sends a statement again that PostgreSQL has ended meanwhile: that was done once', async () => {
    await pool.query('CREATE SEQUENCE asked; CREATE TABLE done (n int)');
    const sql = new Sql(dataSource);
    const text = `INSERT INTO done SELECT count(pg_sleep(CASE nextval('asked') WHEN 1 THEN 60 ELSE 0 END)) RETURNING n`;
    const done = sql.query({ name: 'slow-at-first', text }, []);
    await new Promise(setImmediate);
    standStill();
    expect(await done).toEqual([{ n: 1 }]);
    expect(await dataSource.query('SELECT n FROM done')).toEqual([{ n: 1 }]);
  });

  it.each<[string, boolean, string]>([
    ['on Citus, where a node may have committed it', true, 'pg_sleep(CASE n WHEN 1 THEN 60 ELSE 0 END)'],
    ['that has committed on one server only', false, 'warn()'],
  ])('does not send a statement again %s', async (_name, isDistributed, slow) => {
    await pool.query(`
      CREATE OR REPLACE FUNCTION warn() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
        RAISE WARNING 'canceling wait for synchronous replication due to user request';
      END $$;
      CREATE SEQUENCE IF NOT EXISTS tried; SELECT setval('tried', 1, false)`);
    const sql = new Sql(dataSource, isDistributed);
    const text = `SELECT ${slow} FROM nextval('tried') AS n`;
    const done = sql.query({ name: `once ${isDistributed}`, text }, []);
    await new Promise(setImmediate);
    standStill();
    expect(isDatabaseAway(await done.catch((error: unknown) => error))).toBe(true);
    expect(await pool.query('SELECT last_value FROM tried')).toMatchObject({ rows: [{ last_value: '1' }] });
  });

  it('does not take the time for that of the answer when it compares its clock with the database', async () => {
    const clock = new Clock(new Sql(dataSource));
    const { measure } = clock as unknown as { measure: () => Promise<void> };
    for (const work of [() => clock.onModuleInit(), () => measure.call(clock)]) {
      const measured = work();
      await new Promise(setImmediate);
      standStill();
      await measured;
      expect(Math.abs(clock.now() - Date.now())).toBeLessThan(STANDSTILL_MS / 4); // both are of one machine
    }
    clock.onApplicationShutdown();
  });

  it('gets the connection that it waited for', async () => {
    const client = await pool.connect();
    const waits = pool.connect();
    standStill();
    await new Promise((resolve) => setTimeout(resolve, 50)); // the old limit would expire
    client.release();
    (await waits).release();
  });

  it('gets a connection that was begun before', async () => {
    const client = await pool.connect();
    client.release(true); // there is none any more
    const begun = pool.connect();
    standStill();
    (await begun).release();
  });

  it('does not send a statement again for a standstill of before, when it waited for a connection', async () => {
    await pool.query('CREATE SEQUENCE sent');
    const sql = new Sql(dataSource);
    let freed: number;
    do {
      await pool.query(`SELECT setval('sent', 1, false)`);
      const client = await pool.connect();
      const asked = sql.query({ name: 'slow', text: `SELECT nextval('sent'), pg_sleep(60)` }, []);
      standStill();
      await new Promise((resolve) => setTimeout(resolve, 200));
      freed = timeNow();
      client.release();
      await expect(asked).rejects.toThrow('statement timeout');
    } while (stoodStillSince(freed)); // again, and now during it
    expect(await pool.query('SELECT last_value FROM sent')).toMatchObject({ rows: [{ last_value: '1' }] });
  });

  it('hears of a statement that PostgreSQL has ended', async () => {
    await pool.query('SELECT 1');
    const asked = pool.query('SELECT pg_sleep(60)').catch((error: unknown) => error);
    await new Promise(setImmediate);
    standStill();
    expect(isDatabaseAway(await asked)).toBe(true);
  });
});

import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../src/database/pool/data-source.js';
import { Sql } from '../../src/database/statements/sql.js';
import { isDatabaseAway } from '../../src/errors/database-error.js';
import { createEmptyDatabase, type TestDatabase, query } from '../support/database.js';

const PLACES = 40;

/** One bad row must not fail those that share its statement (P4), and a server that is away is not asked once for each. */
describe('a statement that calls share, on PostgreSQL', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let sizes: number[];
  let store: (n: string) => Promise<string>;

  beforeEach(async () => {
    database = await createEmptyDatabase();
    await query(database.url, 'CREATE TABLE kept (n smallint PRIMARY KEY CHECK (n <> 13))');
    dataSource = await new DataSource(dataSourceOptions(database.url, 2)).initialize();
    const sql = new Sql(dataSource);
    sizes = [];
    const insert = { name: 'keep', text: 'INSERT INTO kept SELECT unnest($1::text[])::smallint' };
    store = sql.together('keep', async (items: string[]) => {
      sizes.push(items.length);
      await sql.query(insert, [items]);
      return items;
    });
  });
  afterEach(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  const kept = async (): Promise<number[]> =>
    (await query<{ n: number }>(database.url, 'SELECT n FROM kept ORDER BY n')).map(({ n }) => n);

  it.each([
    ['is no number', 'x', '22P02'],
    ['is too large', '70000', '22003'],
    ['a constraint refuses', '13', '23514'],
    ['is there already', '1000', '23505'],
    ['comes twice', '7', '23505'],
  ])('stores all but the one that %s', async (_name, bad, code) => {
    await store('1000');
    const good = Array.from({ length: PLACES }, (_, n) => n).filter((n) => n !== 13);
    const items = good.map(String);
    items.splice(PLACES / 2, 0, bad);
    const results = await Promise.allSettled(items.map(store));
    const failed = results.filter(({ status }) => status === 'rejected');
    expect(failed).toEqual([{ status: 'rejected', reason: expect.objectContaining({ code }) }]);
    expect(results.length - failed.length).toBe(good.length);
    expect(await kept()).toEqual([...good, 1000]);
  });

  it('fails all of them, once, when its connection ends', async () => {
    await query(
      database.url,
      `CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS
         'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(1); RETURN NULL; END';
       CREATE TRIGGER cut BEFORE INSERT ON kept EXECUTE FUNCTION cut()`,
    );
    const results = await Promise.allSettled(Array.from({ length: PLACES }, (_, n) => store(`${n}`)));
    for (const result of results) {
      expect(result.status === 'rejected' && isDatabaseAway(result.reason)).toBe(true);
    }
    expect(sizes).toEqual([PLACES]);
    expect(await kept()).toEqual([]);
  });
});

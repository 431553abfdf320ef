import { randomBytes, randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../src/platform/database/pool/data-source.js';
import { plainArray } from '../../src/platform/database/batching.js';
import { Sql } from '../../src/platform/database/sql.js';
import { isDatabaseAway } from '../../src/platform/errors/database-error.js';
import { createEmptyDatabase, query, unhurriedOptions } from '../support/database.js';
import { useEach } from '../support/use.js';

const PLACES = 40;

/** A bad row must not fail the other calls of its batch (P4); a lost server is not asked again for each call. */
describe('a batch of calls on PostgreSQL', () => {
  let sizes: number[];
  let store: (n: string) => Promise<string>;

  const database = useEach(() => createEmptyDatabase());
  beforeEach(() => query(database.url, 'CREATE TABLE kept (n smallint PRIMARY KEY CHECK (n <> 13))'));
  const dataSource = useEach(
    () => new DataSource(unhurriedOptions(dataSourceOptions(database.url, 2))).initialize(),
    (one) => one.destroy(),
  );
  beforeEach(async () => {
    const sql = new Sql(dataSource);
    sizes = [];
    const insert = { name: 'keep', text: 'INSERT INTO kept SELECT unnest($1::text[])::smallint' };
    store = sql.batched('keep', async (items: string[]) => {
      sizes.push(items.length);
      await sql.query(insert, [items]);
      return items;
    });
  });

  const kept = async (): Promise<number[]> =>
    (await query<{ n: number }>(database.url, 'SELECT n FROM kept ORDER BY n')).map(({ n }) => n);

  it.each([
    ['is not a number', 'x', '22P02'],
    ['occurs twice', '7', '23505'],
  ])('stores all items but the one that %s', async (_name, bad, code) => {
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

  it('fails as a whole, once, if its connection ends', async () => {
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

it('arrays that need no quotes are read as they were written', async () => {
  const database = await createEmptyDatabase();
  const ids = [randomUUID(), randomUUID()];
  const bytes = [randomBytes(32), null, Buffer.alloc(0), Buffer.from('"\\,{}')];
  for (const [type, literal, elements] of [
    ['uuid[]', plainArray([]), []],
    ['uuid[]', plainArray(ids), ids],
    ['float8[]', plainArray([1_790_000_000, 0.5, -1]), [1_790_000_000, 0.5, -1]],
    ['text[]', plainArray(['aZ09-_.aZ09-_', 'b']), ['aZ09-_.aZ09-_', 'b']],
    ['bytea[]', plainArray(bytes), bytes],
  ] as const) {
    expect(await query(database.url, `SELECT $1::${type} AS elements`, [literal])).toEqual([{ elements }]);
  }
  await database.close();
});

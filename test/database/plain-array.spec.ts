import { randomBytes, randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { plainArray, plainBytes } from '../../src/database/statements/plain-array.js';

describe('arrays that need no quotes', () => {
  let database: TestDatabase;
  let client: Client;
  beforeAll(async () => {
    database = await createEmptyDatabase();
    client = new Client(database.url);
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  const ids = [randomUUID(), randomUUID()];
  const bytes = [randomBytes(32), null, Buffer.alloc(0), Buffer.from('"\\,{}')];

  it.each<[string, string, unknown[]]>([
    ['uuid[]', plainArray([]), []],
    ['uuid[]', plainArray(ids), ids],
    ['float8[]', plainArray([1_790_000_000, 0.5, -1]), [1_790_000_000, 0.5, -1]],
    ['text[]', plainArray(['aZ09-_.aZ09-_', 'b']), ['aZ09-_.aZ09-_', 'b']],
    ['bytea[]', plainBytes(bytes), bytes],
  ])('%s is read as it was written', async (type, literal, elements) => {
    const { rows } = await client.query<{ elements: unknown[] }>(`SELECT $1::${type} AS elements`, [literal]);
    expect(rows[0]!.elements).toEqual(elements);
  });
});

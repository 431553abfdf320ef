import { Client } from 'pg';
import { createDatabase, createEmptyDatabase, type TestDatabase } from '../support/database.js';

const databases: TestDatabase[] = [];

afterEach(async () => {
  for (const database of databases.splice(0)) await database.drop();
});

async function tablesOf(database: TestDatabase): Promise<unknown[]> {
  databases.push(database);
  const client = new Client(database.url);
  await client.connect();
  const { rows } = await client.query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`);
  await client.end();
  return rows;
}

describe('the database of a test', () => {
  it('is a migrated one', async () => {
    expect(await tablesOf(await createDatabase())).toContainEqual({ tablename: 'migrations' });
  });

  it('can be made by many at once', async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => createDatabase()));
    for (const database of made) expect(await tablesOf(database)).toContainEqual({ tablename: 'migrations' });
  });

  it('is empty where that is asked for', async () => {
    expect(await tablesOf(await createEmptyDatabase())).toEqual([]);
  });
});

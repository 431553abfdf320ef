import { createDatabase, dump, query, type TestDatabase } from '../support/database.js';
import { startTestService } from '../support/service.js';

/** As a version from before 0.1.0 leaves it: the first migration was applied, with another text. */
describe('a database with the schema of another version', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createDatabase();
  });
  afterEach(() => database.drop());

  it.each([
    ['lacks a table', 'DROP TABLE void_claims', 'lacks the column void_claims.user_id'],
    ['lacks a column', 'ALTER TABLE users DROP COLUMN suspended_at', 'lacks the column users.suspended_at'],
    [
      'requires a column that is gone',
      'ALTER TABLE devices ADD COLUMN fingerprint text NOT NULL',
      'has the unknown column devices.fingerprint',
    ],
    [
      'has a column under another name',
      'ALTER TABLE signing_keys RENAME COLUMN active_at TO used_at',
      'lacks the column signing_keys.active_at',
    ],
  ])('that %s: the start says what to do, and changes nothing', async (_what, change, difference) => {
    await query(database.url, change);
    const before = await dump(database.url);
    await expect(startTestService({ DATABASE_URL: database.url })).rejects.toThrow(
      `the database cannot be used: its schema ${difference}; begin with an empty database, or start the version`,
    );
    expect(await dump(database.url)).toBe(before);
  });

  it('that a newer version has extended: the start accepts it', async () => {
    await query(
      database.url,
      "ALTER TABLE users ADD COLUMN locale text, ADD COLUMN rank int NOT NULL DEFAULT 0, ADD COLUMN row_number int GENERATED ALWAYS AS IDENTITY; CREATE TABLE agents (id uuid PRIMARY KEY); INSERT INTO migrations (timestamp, name) VALUES (1900000000000, 'Newer1900000000000')",
    );
    const service = await startTestService({ DATABASE_URL: database.url });
    await service.close();
  });
});

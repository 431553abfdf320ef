import { checkConfig } from '../../src/commands/check/check-config.js';
import { CheckReport } from '../../src/platform/check-report.js';
import { parseSettings } from '../../src/settings.js';
import { createDatabase, dump, query } from '../support/database.js';
import { startTestService } from '../support/service.js';
import { useEach } from '../support/use.js';

describe('a database with the schema of another version', () => {
  const database = useEach(() => createDatabase());

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

  it('from before 0.1.0: the start and check-config say what to do, and change nothing', async () => {
    await query(database.url, "UPDATE migrations SET name = 'Init1700000000000' WHERE name LIKE 'Core%'");
    const before = await dump(database.url);
    const what =
      'the database cannot be used: it is from before 0.1.0; begin with an empty database, or start the version that made this one (docs/versions.md)';
    await expect(startTestService({ DATABASE_URL: database.url })).rejects.toThrow(what);
    const report = new CheckReport(() => undefined);
    const settings = { SECRET_KEY: '5e'.repeat(32), PORT: '1', DATABASE_URL: database.url };
    await checkConfig(parseSettings(settings), report);
    expect(report.findings).toContainEqual(expect.objectContaining({ verdict: 'FAIL', seen: what }));
    expect(await dump(database.url)).toBe(before);
  });

  it.each([
    [
      'of a backup that was not restored to its end',
      'ALTER TABLE devices DROP CONSTRAINT devices_pkey',
      'the database cannot be used: devices has no primary key, so a backup was not restored to its end; restore it',
    ],
    [
      'with the migrations of another application',
      "DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE TABLE migrations (id serial, timestamp bigint, name text); INSERT INTO migrations VALUES (1, 1, 'Shop1')",
      'the database cannot be used: its table of migrations is of another application; begin with an empty database',
    ],
  ])('%s: the start says what to do, and changes nothing', async (_what, change, sentence) => {
    await query(database.url, change);
    const before = await dump(database.url);
    await expect(startTestService({ DATABASE_URL: database.url })).rejects.toThrow(sentence);
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

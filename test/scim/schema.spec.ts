import { checkConfig } from '../../src/commands/check/check-config.js';
import { CheckReport } from '../../src/platform/check-report.js';
import { createEmptyDatabase, dump, query, type TestDatabase } from '../support/database.js';
import { startTestService } from '../support/service.js';
import { parseSettings } from '../../src/settings.js';

/** Tables of a feature are made by migrations of its own (docs/database.md#shared-with-other-applications). */
describe('a table with the name of one of the directory', () => {
  let database: TestDatabase;
  beforeEach(async () => void (database = await createEmptyDatabase()));
  afterEach(() => database.close());

  const start = () => startTestService({ DATABASE_URL: database.url });
  const check = async (): Promise<string> => {
    const report = new CheckReport(() => undefined);
    const settings = { SECRET_KEY: '5e'.repeat(32), PORT: '1', DATABASE_URL: database.url };
    await checkConfig(parseSettings(settings), report);
    return report.findings
      .filter(({ verdict, part }) => verdict === 'FAIL' && part === 'database')
      .map(({ seen }) => seen)
      .join();
  };

  it('of another application: the start is refused, and makes no table', async () => {
    await query(database.url, 'CREATE TABLE directory_groups (id int)');
    const reason = 'relation "directory_groups" already exists; ';
    await expect(start()).rejects.toThrow(reason);
    const text = `SELECT tablename FROM pg_tables WHERE tablename IN ('users', 'directory_groups')`;
    expect(await query(database.url, text)).toEqual([{ tablename: 'directory_groups' }]);
    expect(await check()).toContain(reason);
  });

  it('without its migration: the start says what to do, and changes nothing', async () => {
    const service = await start();
    await service.close();
    await query(
      database.url,
      "DELETE FROM migrations WHERE name NOT LIKE 'Core%'; DROP TABLE signal_accounts",
    );
    const before = await dump(database.url);
    await expect(start()).rejects.toThrow(
      /already exists; begin with an empty database, or start the version/,
    );
    expect(await dump(database.url)).toBe(before);
    expect(await check()).toMatch(/already exists; begin with an empty database/);
  });
});

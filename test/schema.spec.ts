import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../src/database/data-source.js';
import { createDatabase } from './support/database.js';

describe('the schema', () => {
  it('that the migrations make is the one that the entities describe', async () => {
    const database = await createDatabase();
    const dataSource = await new DataSource(dataSourceOptions(database.url, 1)).initialize();
    try {
      const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
      expect(upQueries.map(({ query }) => query)).toEqual([]);
      for (const _ of dataSource.migrations) await dataSource.undoLastMigration(); // and the way back works
      const left = await dataSource.query<unknown[]>(
        `SELECT FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'migrations'`,
      );
      expect(left).toHaveLength(0);
    } finally {
      await dataSource.destroy();
      await database.drop();
    }
  });
});

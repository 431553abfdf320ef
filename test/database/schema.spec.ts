import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../src/database/pool/data-source.js';
import { ENTITIES } from '../../src/entities.js';
import { createDatabase } from '../support/database.js';

describe('the schema', () => {
  it('made by the migrations is the one that the entities describe', async () => {
    const database = await createDatabase();
    const dataSource = await new DataSource({
      ...dataSourceOptions(database.url, 1),
      entities: ENTITIES,
    }).initialize();
    try {
      const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
      expect(upQueries.map(({ query }) => query)).toEqual([]);
      const tables = (): Promise<{ name: string }[]> =>
        dataSource.query(
          `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'migrations'`,
        );
      // Else a condition without a value would find the first row.
      for (const { target } of dataSource.entityMetadatas) {
        const columns = dataSource.getMetadata(target).primaryColumns.map(({ propertyName }) => propertyName);
        for (const missing of [undefined, null]) {
          const nothing = Object.fromEntries(columns.map((name) => [name, missing]));
          await expect(dataSource.getRepository(target).findOneBy(nothing)).rejects.toThrow(
            /where condition/i,
          );
        }
      }
      const described = new Set(dataSource.entityMetadatas.map(({ tableName }) => tableName));
      expect(new Set((await tables()).map(({ name }) => name))).toEqual(described);
      for (const _ of dataSource.migrations) await dataSource.undoLastMigration(); // and the way back works
      expect(await tables()).toEqual([]);
    } finally {
      await dataSource.destroy();
      await database.drop();
    }
  });
});

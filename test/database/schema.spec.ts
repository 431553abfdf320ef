import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../src/platform/database/pool/data-source.js';
import { placements } from '../../src/commands/distribute/distribute.js';
import { ENTITIES, MIGRATIONS } from '../../src/entities.js';
import { createDatabase } from '../support/database.js';
import { use } from '../support/use.js';

describe('the schema', () => {
  const database = use(() => createDatabase());
  const dataSource = use(
    () => {
      const options = dataSourceOptions(database.url, 1);
      return new DataSource({
        ...options,
        entities: ENTITIES,
        migrations: MIGRATIONS,
      }).initialize();
    },
    (one) => one.destroy(),
  );

  const tables = async (): Promise<string[]> => {
    const rows = await dataSource.query<{ name: string }[]>(
      `SELECT tablename AS name FROM pg_tables
       WHERE schemaname = current_schema() AND tablename <> 'migrations' ORDER BY name`,
    );
    return rows.map(({ name }) => name);
  };

  it('made by the migrations is the one that the entities describe', async () => {
    const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
    expect(upQueries.map(({ query }) => query)).toEqual([]);
    const described = dataSource.entityMetadatas.map(({ tableName }) => tableName);
    expect(await tables()).toEqual(described.toSorted());
  });

  it('a condition without a value is an error: it would find the first row', async () => {
    for (const { target } of dataSource.entityMetadatas) {
      const columns = dataSource.getMetadata(target).primaryColumns.map(({ propertyName }) => propertyName);
      for (const missing of [undefined, null]) {
        const nothing = Object.fromEntries(columns.map((name) => [name, missing]));
        const found = dataSource.getRepository(target).findOneBy(nothing);
        await expect(found).rejects.toThrow(/where condition/i);
      }
    }
  });

  describe('distributed over a Citus cluster', () => {
    it('includes every table, those of a user by user_id', async () => {
      const planned = placements(dataSource);
      expect(planned.map(({ table }) => table).toSorted()).toEqual(await tables());
      const beside = (name: string): string[] =>
        planned.flatMap(({ table, beside: other }) => (other === name ? [table] : []));
      expect(beside('users')).toEqual([
        'user_words',
        'void_claims',
        'devices',
        'refresh_tokens',
        'access_tokens',
        'channels',
        'channel_events',
        'presence',
        'audit_events',
        'agent_devices',
        'provider_checks',
        'directory_states',
      ]);
      expect(beside('authorization_codes')).toEqual(['sample_codes']);
      const onEveryNode = planned.filter(({ by }) => by === undefined).map(({ table }) => table);
      expect(onEveryNode).toEqual([
        'signing_keys',
        'instances',
        'webhooks',
        'agent_requests',
        'device_requests',
        'device_confirmations',
        'directory_former_names',
        'directory_users',
        'directory_groups',
        'directory_members',
        'directory_links',
        'directory_sources',
        'directory_tasks',
        'directory_activity',
      ]);
    });

    it('has the distribution column in every unique index, which Citus requires', async () => {
      const indexes = await dataSource.query<{ table: string; columns: string[] }[]>(
        `SELECT c.relname AS "table", array_agg(a.attname::text) AS columns
         FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
         JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
         WHERE i.indisunique AND c.relnamespace = to_regnamespace(current_schema()) GROUP BY c.relname, i.indexrelid`,
      );
      for (const { table, by } of placements(dataSource).filter((placement) => placement.by !== undefined)) {
        for (const index of indexes.filter((one) => one.table === table)) expect(index.columns).toContain(by);
      }
    });
  });

  it('can be taken back', async () => {
    for (const _ of dataSource.migrations) await dataSource.undoLastMigration();
    expect(await tables()).toEqual([]);
  });
});

import type { DataSource } from 'typeorm';
import type { Cluster } from '../platform/database/replaceable.js';

// Two queries: without Citus, the table of the second one does not exist.
const HAS_CITUS = `SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS yes`;
const HAS_TABLES = `
  SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass(name)) AS yes FROM unnest($1::text[]) AS name`;

/** A Citus cluster: some statements have another form there. */
export const citus: Cluster = {
  isUsed: isDistributed,
  replacements: async () => (await import('./stores.js')).REPLACEMENTS,
};

/** Whether the service's tables are distributed. */
export async function isDistributed(dataSource: DataSource): Promise<boolean> {
  if (!(await hasCitus(dataSource))) return false;
  const names = dataSource.entityMetadatas.map(({ tableName }) => tableName);
  return (await dataSource.query<{ yes: boolean }[]>(HAS_TABLES, [names])).some(({ yes }) => yes);
}

export async function hasCitus(dataSource: DataSource): Promise<boolean> {
  const [extension] = await dataSource.query<{ yes: boolean }[]>(HAS_CITUS); // raw: of the catalogue
  return extension!.yes;
}

import type { DataSource } from 'typeorm';

// Not one query: where there is no Citus, the second names a table that does not exist.
const HAS_CITUS = `SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS yes`;
const HAS_OURS = `
  SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass(name)) AS yes FROM unnest($1::text[]) AS name`;

/**
 * Whether our tables are spread over a Citus cluster (`npm run distribute`). Asked of the database at the start, not set:
 * statements for the one would fail on the other.
 */
export async function isDistributed(dataSource: DataSource): Promise<boolean> {
  const [citus] = await dataSource.query<{ yes: boolean }[]>(HAS_CITUS);
  if (!citus!.yes) return false;
  const names = dataSource.entityMetadatas.map(({ tableName }) => tableName);
  return (await dataSource.query<{ yes: boolean }[]>(HAS_OURS, [names])).some(({ yes }) => yes);
}

import { DataSource } from 'typeorm';
import { type ConnectionTarget, dataSourceOptions, keepsSession } from '../database/pool/data-source.js';
import { liftTimeouts } from '../database/start/migrate.js';
import { ENTITIES } from '../entities.js';

/** One connection to the coordinator, without any limit of time: moving a table's rows may take hours. */
export async function openCluster(database: ConnectionTarget): Promise<DataSource> {
  const options = dataSourceOptions(database, 1);
  const extra = { ...options.extra, query_timeout: undefined, idleTimeoutMillis: 0 };
  const dataSource = await new DataSource({ ...options, extra, entities: ENTITIES }).initialize();
  if (keepsSession(dataSource)) await dataSource.query(liftTimeouts('session'));
  return dataSource;
}

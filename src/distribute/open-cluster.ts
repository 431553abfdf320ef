import { DataSource } from 'typeorm';
import { type Database, dataSourceOptions } from '../database/data-source.js';
import { ENTITIES } from '../entities.js';

/** Moving a table's rows may take hours. */
const NO_TIMEOUTS = {
  query_timeout: undefined,
  statement_timeout: 0,
  lock_timeout: 0,
  idle_in_transaction_session_timeout: 0,
};

/** One connection to the coordinator, without any limit of time. */
export function openCluster(database: Database): Promise<DataSource> {
  const options = dataSourceOptions(database, 1);
  const extra = { ...options.extra, ...NO_TIMEOUTS };
  return new DataSource({ ...options, extra, entities: ENTITIES }).initialize();
}

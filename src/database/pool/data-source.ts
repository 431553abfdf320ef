import type { DataSource } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import { boundedPg } from './bounded-pool.js';
import { clientFor, type DatabaseClient } from './client.js';
import { Init1700000000000 } from '../migrations/1700000000000-init.js';

// Waiting for a connection plus waiting for the answer: a database that hangs is an error within 2 s (contract §3).
const CONNECT_TIMEOUT_MS = 900;
const QUERY_TIMEOUT_MS = 1000;

// Sent when a connection begins. A pooler in transaction mode refuses them: they would be for other clients as well.
const OF_THE_SESSION = {
  statement_timeout: QUERY_TIMEOUT_MS - 50, // before the client's own: of what the server ends it is known that nothing was done
  idle_in_transaction_session_timeout: 5000,
};

/** A way to the database. */
export interface Database {
  readonly Client: DatabaseClient;
  /** What stands in the way: `transaction` hands each transaction, and each statement outside of one, to another session. */
  readonly pooler: 'session' | 'transaction';
}

export interface DatabaseOptions extends PostgresDataSourceOptions {
  readonly pooler: Database['pooler'];
  /** For pg's pool, and for each client. */
  readonly extra: { readonly Client: DatabaseClient } & Readonly<Record<string, unknown>>;
}

/**
 * How TypeORM reaches the database, in the service and in its CLI. The schema lives in migrations only. Entities belong to
 * their rooms: code that works with them adds them (entities.ts).
 *
 * @param database its URL alone stands for a way without a pooler
 */
export function dataSourceOptions(database: Database | string, poolSize: number): DatabaseOptions {
  if (typeof database === 'string') return dataSourceOptions(withoutPooler(database), poolSize);
  return {
    type: 'postgres',
    driver: boundedPg,
    pooler: database.pooler,
    migrations: [Init1700000000000],
    migrationsTransactionMode: 'each', // CREATE INDEX CONCURRENTLY runs outside of any
    synchronize: false,
    poolSize,
    applicationName: 'latchkey',
    connectTimeoutMS: CONNECT_TIMEOUT_MS,
    extra: {
      Client: database.Client, // knows the address, so that TypeORM need not
      query_timeout: QUERY_TIMEOUT_MS, // the client's own (limited-client.ts): works also when the server is frozen
      ...(database.pooler === 'session' && OF_THE_SESSION),
      keepAlive: true,
      idleTimeoutMillis: 30_000,
    },
  };
}

/** Whether what a statement leaves in its session (a prepared statement, a setting) is there for the next one. */
export function keepsSession({ options }: DataSource): boolean {
  return !('pooler' in options && options.pooler === 'transaction');
}

function withoutPooler(url: string): Database {
  return { Client: clientFor(() => url, 'session'), pooler: 'session' };
}

import pg from 'pg';
import type { DataSource } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import { BoundedPool } from './bounded-pool.js';
import { targetOf, type ConnectionTarget } from './connection-target.js';

// Together below 2 s, within which a database that hangs is an error (SECURITY.md#promises, P10).
const CONNECT_TIMEOUT_MS = 900;
const QUERY_TIMEOUT_MS = 1000;

// Startup parameters. A pooler in transaction mode refuses them: they would apply to other clients, too.
const SESSION_LIMITS = {
  // before the client's: if the server ends a statement, nothing was done
  statement_timeout: QUERY_TIMEOUT_MS - 50,
  idle_in_transaction_session_timeout: 5000,
};

export interface DatabaseOptions extends PostgresDataSourceOptions {
  readonly pooler: ConnectionTarget['pooler'];
  readonly extra: Pick<ConnectionTarget, 'Client'> & Readonly<Record<string, unknown>>;
}

/** Returns TypeORM's options, without entities and migrations. @param target a URL: without a pooler */
export function dataSourceOptions(target: ConnectionTarget | string, poolSize: number): DatabaseOptions {
  const { Client, pooler } = typeof target === 'string' ? targetOf(() => target, 'session') : target;
  return {
    type: 'postgres',
    driver: { ...pg, Pool: BoundedPool },
    pooler,
    migrationsTransactionMode: 'each', // CREATE INDEX CONCURRENTLY runs outside of any
    synchronize: false,
    poolSize,
    applicationName: 'latchkey',
    connectTimeoutMS: CONNECT_TIMEOUT_MS,
    extra: {
      Client, // knows the address
      query_timeout: QUERY_TIMEOUT_MS, // of the client (limited-client.ts), for a server that hangs
      ...(pooler === 'session' && SESSION_LIMITS),
      keepAlive: true,
      idleTimeoutMillis: 30_000,
    },
  };
}

/** Returns the pool of a connected data source with these options. */
export function poolOf({ driver }: DataSource): BoundedPool {
  return (driver as PostgresDriver).master as BoundedPool;
}

/** Whether consecutive statements share a session, with its prepared statements and settings. */
export function keepsSession({ options }: DataSource): boolean {
  return !('pooler' in options && options.pooler === 'transaction');
}

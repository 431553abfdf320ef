import type { DataSourceOptions } from 'typeorm';
import { boundedPg } from './bounded-pool.js';
import { Init1700000000000 } from './migrations/1700000000000-init.js';
import { SignedOutSessions1700000001000 } from './migrations/1700000001000-signed-out-sessions.js';
import { KeyRotation1700000002000 } from './migrations/1700000002000-key-rotation.js';
import { ExpiryIndexes1700000003000 } from './migrations/1700000003000-expiry-indexes.js';
import { Channels1700000004000 } from './migrations/1700000004000-channels.js';
import { SignOutTransactions1700000005000 } from './migrations/1700000005000-sign-out-transactions.js';
import { SignOutIndexes1700000006000 } from './migrations/1700000006000-sign-out-indexes.js';

// Waiting for a connection plus waiting for the answer: a database that hangs is an error within 2 s (contract §3).
const CONNECT_TIMEOUT_MS = 900;
const QUERY_TIMEOUT_MS = 1000;

/**
 * How TypeORM reaches the database, in the service and in its CLI. The schema lives in migrations only. Entities belong to
 * their rooms: code that works with them adds them (entities.ts).
 */
export function dataSourceOptions(databaseUrl: string, poolSize: number): DataSourceOptions {
  return {
    type: 'postgres',
    driver: boundedPg,
    url: databaseUrl,
    migrations: [
      Init1700000000000,
      SignedOutSessions1700000001000,
      KeyRotation1700000002000,
      ExpiryIndexes1700000003000,
      Channels1700000004000,
      SignOutTransactions1700000005000,
      SignOutIndexes1700000006000,
    ],
    migrationsTransactionMode: 'each', // CREATE INDEX CONCURRENTLY runs outside of any
    synchronize: false,
    poolSize,
    applicationName: 'latchkey',
    connectTimeoutMS: CONNECT_TIMEOUT_MS,
    extra: {
      query_timeout: QUERY_TIMEOUT_MS, // the client's own: works also when the server is frozen
      statement_timeout: QUERY_TIMEOUT_MS,
      idle_in_transaction_session_timeout: 5000,
      keepAlive: true,
      idleTimeoutMillis: 30_000,
    },
  };
}

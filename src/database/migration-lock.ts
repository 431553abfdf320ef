import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { liftTimeouts } from './lift-timeouts.js';

// Any fixed number will do, as long as every version of the service uses the same.
const MIGRATION_LOCK = '7165934107325011';
const POLL_MS = 100;

/**
 * Takes the lock that one instance at a time migrates under. It ends with the transaction: a lock of the session would stay
 * behind a pooler in transaction mode, which hands the session to others.
 *
 * Asks again and again. Waiting inside a statement would hold a snapshot, and a `CREATE INDEX CONCURRENTLY` of the instance
 * that migrates would wait for that snapshot to end: both would wait forever. At this isolation level an idle transaction
 * holds none, whatever the database's default is.
 *
 * @param client in whose transaction the lock lives, until `COMMIT` or the end of the connection
 */
export async function takeMigrationLock(client: Client, signal: AbortSignal): Promise<void> {
  for (;;) {
    await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
    const { rows } = await client.query<{ locked: boolean }>(
      `SELECT pg_try_advisory_xact_lock(${MIGRATION_LOCK}) AS locked`,
    );
    if (rows[0]?.locked) break;
    await client.query('ROLLBACK');
    await delay(POLL_MS, undefined, { signal });
  }
  await client.query(liftTimeouts('transaction')); // it is idle while the migrations run
}

import { setTimeout as delay } from 'node:timers/promises';
import { type Client, DatabaseError, type ClientConfig } from 'pg';
import type { DatabaseClient } from './client.js';
import { errorCode, errorMessage } from './error-facts.js';
import type { Patience } from './patiently.js';
import { settingFault } from './setting-fault.js';

const RETRY_MS = 250;
const MIN_ATTEMPT_MS = 100;
const MAX_ATTEMPT_MS = 5000;

// https://www.postgresql.org/docs/current/errcodes-appendix.html: answers of a server that will soon take connections
const NOT_YET = new Set<string | undefined>(['57P03', '53300']); // cannot_connect_now, too_many_connections

/**
 * Connects to a database that may not have come up yet: service and database are often started together.
 *
 * @throws at once, errors that waiting does not change (a wrong password, no such database); in the end, address and reason
 */
export async function connectPatiently(
  Client: DatabaseClient,
  config: ClientConfig,
  { patienceMs, signal, log }: Patience,
): Promise<Client> {
  const deadline = Date.now() + patienceMs;
  for (let attempt = 1; ; attempt++) {
    const connectionTimeoutMillis = Math.max(MIN_ATTEMPT_MS, Math.min(MAX_ATTEMPT_MS, deadline - Date.now()));
    const client = new Client({ ...config, connectionTimeoutMillis });
    client.on('error', () => undefined); // pg emits what `connect` rejects with, too
    try {
      await client.connect();
      return client;
    } catch (error) {
      client.end().catch(() => undefined);
      const fault = settingFault(error);
      if (fault) throw new Error(fault, { cause: error });
      if (isAnswer(error)) throw error;
      const address = `${client.host}:${client.port}`;
      if (Date.now() >= deadline) {
        const seconds = Math.round(patienceMs / 1000);
        throw new Error(`no database at ${address} within ${seconds} s: ${reason(error)}`, { cause: error });
      }
      if (attempt === 1) log(`waiting for the database at ${address}: ${reason(error)}`);
    }
    await delay(RETRY_MS, undefined, { signal });
  }
}

/** Whether a server has answered with an error that waiting does not change. */
function isAnswer(error: unknown): boolean {
  return error instanceof DatabaseError && !NOT_YET.has(error.code);
}

/** Connection errors of several addresses (`localhost`) have a code and no message. */
function reason(error: unknown): string {
  return errorMessage(error) || String(errorCode(error));
}

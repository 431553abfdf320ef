import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { startEmbeddedPostgres } from '#embedded-postgres';
import type { Settings } from './config/settings/settings.js';
import type { RetryOptions } from './database/start/retry.js';
import type { Service } from './start-app.js';

/**
 * Time to wait for a database that is unavailable, slow or read-only
 * (docs/production.md#what-the-start-refuses).
 */
const DATABASE_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 3000; // time for the embedded database to stop after a failed or aborted start

/**
 * Starts the whole service: database, migrations, application, listener.
 * @param signal aborts the start at once; pending work ends with the process
 * @throws the error of the first part that fails; the embedded database is stopped then
 */
export async function startService(
  settings: Settings,
  log: Logger,
  signal: AbortSignal = new AbortController().signal,
  timeoutMs = DATABASE_TIMEOUT_MS,
): Promise<Service> {
  signal.throwIfAborted();
  const retries: RetryOptions = { timeoutMs, signal, log: (line) => log.info(line) };
  const embedded = settings.databaseUrl
    ? undefined
    : startEmbeddedPostgres({ dataDir: settings.dataDir, log: retries.log });
  embedded?.catch(() => undefined); // it may fail before it is awaited

  async function start(): Promise<Service> {
    const { startApp } = await import('./start-app.js'); // while the database starts
    const database = await embedded;
    const databaseUrl = settings.databaseUrl ?? database!.url;
    const databaseDirectUrl = settings.databaseDirectUrl ?? databaseUrl;
    return startApp({ ...settings, databaseUrl, databaseDirectUrl }, log, retries, database);
  }

  try {
    const aborted = once(signal, 'abort').then(() => signal.throwIfAborted() as never);
    return await Promise.race([start(), aborted]);
  } catch (error) {
    const stopped = embedded?.then(
      (database) => database.stop(),
      () => undefined, // the start throws its error
    );
    await Promise.race([stopped, delay(STOP_TIMEOUT_MS, undefined, { ref: false })]);
    throw error;
  }
}

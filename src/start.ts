import { setTimeout as delay } from 'node:timers/promises';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Logger } from 'pino';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '#embedded-postgres';
import type { Settings } from './config/settings/settings.js';
import type { RetryOptions } from './database/start/retry.js';

/** For a database that is unreachable, slow or read-only at the start (contract §1). */
const DATABASE_TIMEOUT_MS = 30_000;
/** How long to wait, when the start is called off, for an embedded database that must first come up to be stopped. */
const FAREWELL_MS = 3000;

export interface Service {
  readonly app: NestExpressApplication;
  /** Warns of providers with which nobody can sign in, as far as that can be seen (contract §6). Ends within 5 s. */
  checkProviders(warn: (line: string) => void): Promise<void>;
  /** Stops as contract §1 says: not ready at once; then the delay; then requests in flight end; then the database stops. */
  stop(): Promise<void>;
}

/**
 * Starts the whole service: database, migrations, application, listener. When one fails, those before it are stopped.
 *
 * @param signal calls the start off, at once; work that still waits for the database then ends with the process
 * @param timeoutMs how long to wait for the database
 */
export async function startService(
  settings: Settings,
  log: Logger,
  signal: AbortSignal = new AbortController().signal,
  timeoutMs = DATABASE_TIMEOUT_MS,
): Promise<Service> {
  const retries: RetryOptions = { timeoutMs, signal, log: (line) => log.info(line) };
  const embedded = settings.databaseUrl
    ? undefined
    : startEmbeddedPostgres({ dataDir: settings.dataDir, log: retries.log });
  embedded?.catch(() => undefined); // it may fail before it is awaited
  try {
    const { running, startApp } = await unlessAborted(import('./start-app.js'), signal); // while the database comes up
    const databaseUrl = settings.databaseUrl ?? (await unlessAborted(embedded!, signal)).url;
    const databaseDirectUrl = settings.databaseDirectUrl ?? databaseUrl;
    const complete = { ...settings, databaseUrl, databaseDirectUrl };
    const starting = startApp(complete, log, retries);
    return running(await unlessAborted(starting, signal), settings, await embedded);
  } catch (error) {
    await Promise.race([takeDown(embedded), delay(FAREWELL_MS, undefined, { ref: false })]);
    throw error;
  }
}

/** Stops the embedded database, also when the start was called off while it was still starting. */
async function takeDown(embedded: Promise<EmbeddedPostgres> | undefined): Promise<void> {
  const database = await embedded?.catch(() => undefined); // the start throws its error
  await database?.stop();
}

function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const aborted = new Promise<never>((_resolve, reject) => {
    const call = (): void => reject(signal.reason as Error);
    if (signal.aborted) call();
    else signal.addEventListener('abort', call, { once: true });
  });
  return Promise.race([work, aborted]);
}

import type { Server } from 'node:http';
import { isIPv4 } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Logger } from 'pino';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '#embedded-postgres';
import { AppModule } from './app.module.js';
import type { Settings } from './config/settings.js';
import { Clock } from './database/clock.js';
import { dataSourceOptions } from './database/data-source.js';
import { migrate } from './database/migrate.js';
import { patiently, type Patience } from './database/patiently.js';
import { Sql } from './database/sql.js';
import { directWay } from './database/ways.js';
import { spreadNewTables } from './distribute/spread-new-tables.js';
import { tellTimeOf } from './http/answer-date.js';
import { createApp } from './http/create-app.js';
import { isTakenAtIpv6, listenFault } from './http/listen-fault.js';
import { stopListening } from './http/stop-listening.js';
import { NestLog } from './operations/log.js';
import { ProviderRegistry } from './provider/provider.registry.js';
import { SocketServerAdapter } from './realtime/socket-server.adapter.js';
import { MetricsServer } from './operations/metrics/metrics-server.js';
import { Readiness } from './operations/readiness.js';

/** For a database that is not there yet, slow, or read-only for a moment (contract §1). */
const PATIENCE_MS = 30_000;
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
 * @param patienceMs how long to wait for the database
 */
export async function startService(
  settings: Settings,
  log: Logger,
  signal: AbortSignal = new AbortController().signal,
  patienceMs = PATIENCE_MS,
): Promise<Service> {
  const patience: Patience = { patienceMs, signal, log: (line) => log.info(line) };
  const embedded = settings.databaseUrl
    ? undefined
    : startEmbeddedPostgres({ dataDir: settings.dataDir, log: patience.log });
  try {
    const databaseUrl = settings.databaseUrl ?? (await unlessAborted(embedded!, signal)).url;
    const databaseDirectUrl = settings.databaseDirectUrl ?? databaseUrl;
    const complete = { ...settings, databaseUrl, databaseDirectUrl };
    const starting = patiently(
      (msLeft) => startApp(complete, log, { ...patience, patienceMs: msLeft }),
      patience,
    );
    return running(await unlessAborted(starting, signal), settings, await embedded);
  } catch (error) {
    await Promise.race([takeDown(embedded), delay(FAREWELL_MS, undefined, { ref: false })]);
    throw error;
  }
}

/** One attempt. */
async function startApp(
  settings: Settings,
  log: Logger,
  patience: Patience,
): Promise<NestExpressApplication> {
  const direct = directWay(settings);
  const newer = await migrate(dataSourceOptions(direct, 1), patience);
  if (newer.length > 0)
    log.warn(`A newer version has migrated the database: ${newer.join(', ')}. This one goes on`);
  const app = await createApp(AppModule.with(settings), settings, { pino: log, nest: new NestLog(log) });
  try {
    tellTimeOf(app.get(Clock));
    if (app.get(Sql).distributed) await spreadNewTables(direct);
    app.useWebSocketAdapter(new SocketServerAdapter(app, settings));
    await app.init();
    await listen(app, settings); // its faults are no DatabaseErrors: waiting for the database does not help
    patience.signal.throwIfAborted();
    return app;
  } catch (error) {
    await app.close();
    throw error;
  }
}

async function listen(app: NestExpressApplication, settings: Settings): Promise<void> {
  const { port, host, metricsPort = 0 } = settings;
  const at = (variable: string, value: number) => async (error: unknown) => {
    throw await listenFault(error, { variable, port: value, host });
  };
  await app.get(MetricsServer).listen().catch(at('METRICS_PORT', metricsPort));
  if (isHiddenByIpv6(settings) && (await isTakenAtIpv6(port))) await at('PORT', port)({ code: 'EADDRINUSE' });
  await app.listen(port, host).catch(at('PORT', port));
}

/** In development, where people open `localhost`, but the service listens with IPv4 alone. */
function isHiddenByIpv6({ production, publicUrl, host, port }: Settings): boolean {
  return !production && isIPv4(host) && publicUrl === `http://localhost:${port}`;
}

function running(app: NestExpressApplication, settings: Settings, database?: EmbeddedPostgres): Service {
  return {
    app,
    checkProviders: (warn) => app.get(ProviderRegistry).check(warn),
    async stop() {
      app.get(Readiness).stop();
      closeConnectionsAfterAnswer(app.getHttpServer());
      await delay(settings.shutdownDelay * 1000);
      await stopListening(app.getHttpServer());
      await app.close();
      await database?.stop();
    },
  };
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

/** While the service waits for its end, answers tell clients and proxies to go elsewhere. */
function closeConnectionsAfterAnswer(server: Server): void {
  server.prependListener('request', (_request, response) => response.setHeader('Connection', 'close'));
}

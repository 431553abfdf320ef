import type { Server } from 'node:http';
import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Logger } from 'pino';
import type { EmbeddedPostgres } from '#embedded-postgres';
import { AppModule } from '../app.module.js';
import { MIGRATIONS } from '../entities.js';
import { FEATURES } from '../features.js';
import type { Settings } from '../platform/config/settings/settings.js';
import { Clock } from '../platform/database/clock.js';
import { dataSourceOptions } from '../platform/database/pool/data-source.js';
import { migrateOnce } from '../platform/database/start/migrate.js';
import { retry, type RetryOptions } from '../platform/database/start/retry.js';
import { Sql } from '../platform/database/sql.js';
import { directTarget } from '../platform/database/pool/connection-target.js';
import { distributeNewTables } from '../commands/distribute/distribute.js';
import { createApp } from '../platform/http/server/create-app.js';
import { isHiddenByIpv6, listenFailure } from '../platform/http/server/listening.js';
import { NestLog } from '../operations/log.js';
import { MetricsServer } from '../operations/metrics/metrics-server.js';
import { Readiness } from '../operations/readiness.js';
import { ProviderRegistry } from '../provider/provider.registry.js';
import { SocketServerAdapter } from '../realtime/socket/socket-server.adapter.js';

/** Of the event loop, for connections that wait when the service stops: new ones may come without end. */
const MAX_ITERATIONS = 1000;

export interface Application {
  readonly app: NestExpressApplication;
  readonly providers: ProviderRegistry;
  /** Stops in the order of docs/production.md: readiness, delay, requests in flight, database. */
  stop(): Promise<void>;
}

/** Migrates the database, starts the application and listens. @param embedded stops with the service */
export async function startApplication(
  settings: Settings,
  log: Logger,
  retries: RetryOptions,
  embedded: EmbeddedPostgres | undefined,
): Promise<Application> {
  const features = FEATURES.filter((feature) => feature.isOn(settings));
  const middleware = await Promise.all(features.flatMap((feature) => feature.middleware?.() ?? []));
  const module = await AppModule.forRoot(settings); // once: TypeORM's module warns of a second one
  const direct = directTarget(settings);
  const app = await retry(async (msLeft) => {
    const { upgraded, newer } = await migrateOnce(
      { ...dataSourceOptions(direct, 1), migrations: MIGRATIONS },
      msLeft,
      retries.signal,
    );
    if (upgraded.length > 0) log.info(`The database was migrated: ${upgraded.join(', ')}`);
    if (newer.length > 0)
      log.warn(
        `A newer version has migrated the database (docs/versions.md). This version continues: ${newer.join(', ')}`,
      );
    const created = await createApp(
      module,
      settings,
      { pino: log, nest: new NestLog(log) },
      Clock,
      middleware,
    );
    try {
      if (created.get(Sql).distributed) await distributeNewTables(direct);
      created.useWebSocketAdapter(new SocketServerAdapter(created, settings));
      await created.init();
      await listen(created, settings);
      retries.signal.throwIfAborted();
      return created;
    } catch (error) {
      await created.close();
      throw error;
    }
  }, retries);
  return {
    app,
    providers: app.get(ProviderRegistry),
    async stop() {
      const server: Server = app.getHttpServer();
      app.get(Readiness).isStopping = true;
      server.prependListener('request', (_request, response) => response.setHeader('Connection', 'close'));
      await delay(settings.shutdownDelay * 1000);
      await acceptWaiting(server); // close() would reset them
      server.close(); // before sockets are notified: they must not reconnect to this instance
      await app.close();
      await embedded?.stop();
    },
  };
}

/**
 * Accepts the connections that the kernel holds: one in each iteration of the event loop, until one has none.
 */
async function acceptWaiting(server: Server): Promise<void> {
  let accepted = 0;
  server.on('connection', () => accepted++);
  for (let iteration = 0; iteration <= accepted && iteration < MAX_ITERATIONS; iteration++)
    await setImmediate();
}

/** @throws an Error for the terminal; it is no database error, so the start does not wait */
async function listen(app: NestExpressApplication, settings: Settings): Promise<void> {
  const { port, host, metricsPort = 0 } = settings;
  const failed = (variable: string, value: number) => (error: unknown) => {
    throw listenFailure(error, variable, value, host);
  };
  await app.get(MetricsServer).listen().catch(failed('METRICS_PORT', metricsPort));
  if (await isHiddenByIpv6(settings)) failed('PORT', port)({ code: 'EADDRINUSE' });
  await app.listen(port, host).catch(failed('PORT', port));
}

import type { Server } from 'node:http';
import { isIPv4 } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { DynamicModule } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Logger } from 'pino';
import type { EmbeddedPostgres } from '#embedded-postgres';
import { AppModule } from './app.module.js';
import type { Settings } from './config/settings/settings.js';
import { Clock } from './database/clock.js';
import { dataSourceOptions } from './database/pool/data-source.js';
import { migrateOnce } from './database/start/migrate.js';
import { retry, type RetryOptions } from './database/start/retry.js';
import { Sql } from './database/statements/sql.js';
import { directTarget } from './database/pool/connection-target.js';
import { distributeNewTables } from './distribute/distribute.js';
import { createApp } from './http/server/create-app.js';
import { isTakenAtIpv6, listenFault } from './http/server/listen-fault.js';
import { NestLog } from './operations/log.js';
import { ProviderRegistry } from './provider/provider.registry.js';
import { SocketServerAdapter } from './realtime/socket/socket-server.adapter.js';
import { MetricsServer } from './operations/metrics/metrics-server.js';
import { Readiness } from './operations/readiness.js';
import type { Service } from './start.js';
import { tellTimeOf } from './http/server/express.adapter.js';

/**
 * Migrates the database and starts the application on it.
 *
 * @param settings with the URL of the database
 * @returns the application, which listens
 */
export function startApp(
  settings: Settings,
  log: Logger,
  retries: RetryOptions,
): Promise<NestExpressApplication> {
  const module = AppModule.with(settings); // once: TypeORM's module warns of a second one
  return retry((msLeft) => attempt(module, settings, log, msLeft, retries.signal), retries);
}

/** @throws DatabaseErrors, after which another attempt may help, and faults of the settings */
async function attempt(
  module: DynamicModule,
  settings: Settings,
  log: Logger,
  msLeft: number,
  signal: AbortSignal,
): Promise<NestExpressApplication> {
  const direct = directTarget(settings);
  const newer = await migrateOnce(dataSourceOptions(direct, 1), msLeft, signal);
  if (newer.length > 0)
    log.warn(`A newer version has migrated the database: ${newer.join(', ')}. This one goes on`);
  const app = await createApp(module, settings, { pino: log, nest: new NestLog(log) });
  try {
    tellTimeOf(app.get(Clock));
    if (app.get(Sql).distributed) await distributeNewTables(direct);
    app.useWebSocketAdapter(new SocketServerAdapter(app, settings));
    await app.init();
    await listen(app, settings); // its faults are no DatabaseErrors: waiting for the database does not help
    signal.throwIfAborted();
    return app;
  } catch (error) {
    await app.close();
    throw error;
  }
}

async function listen(app: NestExpressApplication, settings: Settings): Promise<void> {
  const { port, host, metricsPort = 0 } = settings;
  const at = (variable: string, value: number) => (error: unknown) => {
    throw listenFault(error, variable, value, host);
  };
  await app.get(MetricsServer).listen().catch(at('METRICS_PORT', metricsPort));
  if (isHiddenByIpv6(settings) && (await isTakenAtIpv6(port))) at('PORT', port)({ code: 'EADDRINUSE' });
  await app.listen(port, host).catch(at('PORT', port));
}

/** In development, where people open `localhost`, but the service listens with IPv4 alone. */
function isHiddenByIpv6({ production, publicUrl, host, port }: Settings): boolean {
  return !production && isIPv4(host) && publicUrl === `http://localhost:${port}`;
}

/** The service, once its application listens. */
export function running(
  app: NestExpressApplication,
  settings: Settings,
  database?: EmbeddedPostgres,
): Service {
  return {
    app,
    checkProviders: (warn) => app.get(ProviderRegistry).check(warn),
    async stop() {
      app.get(Readiness).stop();
      closeConnectionsAfterAnswer(app.getHttpServer());
      await delay(settings.shutdownDelay * 1000);
      app.getHttpServer().close(); // before sockets are notified: they must not come back here
      await app.close();
      await database?.stop();
    },
  };
}

/** While the service waits for its end, answers tell clients and proxies to go elsewhere. */
function closeConnectionsAfterAnswer(server: Server): void {
  server.prependListener('request', (_request, response) => response.setHeader('Connection', 'close'));
}

import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Logger } from 'pino';
import { AppModule } from './app.module.js';
import type { Settings } from './config/settings.js';
import { dataSourceOptions } from './database/data-source.js';
import { startEmbeddedPostgres, type EmbeddedPostgres } from './database/embedded/embedded-postgres.js';
import { migrate } from './database/migrate.js';
import { createApp } from './http/create-app.js';
import { NestLog } from './operations/log.js';
import { SocketServerAdapter } from './realtime/socket-server.adapter.js';
import { Readiness } from './operations/readiness.js';

export interface Service {
  readonly app: NestExpressApplication;
  /** Stops as contract §1 says: not ready at once, then the delay, then what is in flight ends, then the database. */
  stop(): Promise<void>;
}

/** Starts the whole service: database, migrations, application, listener. Whatever fails takes down what had started. */
export async function startService(settings: Settings, log: Logger): Promise<Service> {
  let database: EmbeddedPostgres | undefined;
  let app: NestExpressApplication | undefined;
  try {
    if (!settings.databaseUrl) {
      database = await startEmbeddedPostgres({ dataDir: settings.dataDir, log: (line) => log.info(line) });
    }
    const databaseUrl = settings.databaseUrl ?? database!.url;
    await migrate(dataSourceOptions(databaseUrl, settings.databasePoolSize), (line) => log.info(line));
    const complete = { ...settings, databaseUrl };
    app = await createApp(AppModule.with(complete), complete, { pino: log, nest: new NestLog(log) });
    app.useWebSocketAdapter(new SocketServerAdapter(app, complete));
    await app.listen(settings.port, settings.host);
  } catch (error) {
    await app?.close();
    await database?.stop();
    throw error;
  }
  const running = app;
  return {
    app: running,
    async stop() {
      running.get(Readiness).stop();
      closeConnectionsAfterAnswer(running.getHttpServer());
      await delay(settings.shutdownDelay * 1000);
      await running.close();
      await database?.stop();
    },
  };
}

/** While the service waits for its end, answers tell clients and proxies to go elsewhere. */
function closeConnectionsAfterAnswer(server: Server): void {
  server.prependListener('request', (_request, response) => response.setHeader('Connection', 'close'));
}

import { tmpdir } from 'node:os';
import type { PoolConfig } from 'pg';
import { DataSource } from 'typeorm';
import { parseSettings } from '../../src/settings.js';
import type { Settings } from '../../src/platform/config/settings/settings.js';
import { createLog } from '../../src/operations/log.js';
import type { Application as Service } from '../../src/start/application.js';
import { poolOf } from '../../src/platform/database/pool/data-source.js';
import { startService } from '../../src/start/start.js';
import { createDatabase, isUnhurried, unhurried, UNHURRIED_MS } from './database.js';
import { freePort } from './free-port.js';
import { expectNoSecret } from './service-process.js';
import { watchAnswer } from './openapi/watch-answers.mjs';

export { SERVICE_KEY } from './service-process.js';

export interface TestService {
  /** Its address, e.g. `http://localhost:40123`; also the default of PUBLIC_URL. */
  readonly url: string;
  readonly databaseUrl: string;
  readonly settings: Settings;
  readonly app: Service['app'];
  /** Everything logged so far, at level debug. */
  readonly log: readonly string[];
  /** Starts another instance on its database. @param env what differs from its settings */
  another(env?: Record<string, string>): Promise<TestService>;
  /** Stops it, and drops its database unless that was given. Fails if a secret was logged. */
  close(): Promise<void>;
}

/**
 * Starts the real service in this process, on a free port and a fresh database. What it answers is compared with
 * docs/openapi.json.
 * @param env settings (docs/settings.md#settings); a `DATABASE_URL` makes it another instance on a database
 *   that exists.
 * @param hasOwnLimits whether a statement and the wait for a connection may take 1 s, as in production: for tests of these limits. Else
 * they may take 30 s, also on other instances at `databaseUrl`, since a busy machine exceeds 1 s. A `DATABASE_URL` that is given keeps
 * its limits.
 */
export async function startTestService(
  env: Record<string, string> = {},
  { hasOwnLimits = false } = {},
): Promise<TestService> {
  const port = await freePort();
  const database = env['DATABASE_URL'] ? undefined : await createDatabase();
  const databaseUrl = env['DATABASE_URL'] ?? (hasOwnLimits ? database!.url : unhurried(database!.url));
  const variables = {
    PORT: String(port),
    SECRET_KEY: '5e'.repeat(32),
    DATA_DIR: tmpdir(),
    LOG_LEVEL: 'debug',
    ...env,
    DATABASE_URL: databaseUrl,
  };
  const settings = parseSettings(variables);
  const log: string[] = [];
  const service = await startService(
    settings,
    createLog(settings.logLevel, { write: (line) => void log.push(line) }),
  );
  if (isUnhurried(databaseUrl)) {
    (poolOf(service.app.get(DataSource)) as { options: PoolConfig }).options.connectionTimeoutMillis =
      UNHURRIED_MS;
  }
  service.app.getHttpServer().prependListener('request', (request, response) => {
    watchAnswer(request, response, globalThis.answered);
  });
  return {
    url: `http://localhost:${port}`,
    databaseUrl,
    settings,
    app: service.app,
    log,
    another: (more) =>
      startTestService({ ...env, PUBLIC_URL: settings.publicUrl, DATABASE_URL: databaseUrl, ...more }),
    async close() {
      await service.stop();
      await database?.close();
      expectNoSecret(log.join(''), variables);
    },
  };
}

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { runningEmbeddedPostgres, startEmbeddedPostgres } from '#embedded-postgres';
import type { Settings } from '../config/settings/settings.js';
import { dataSourceOptions, keepsSession } from '../database/pool/data-source.js';
import { requireSettings } from '../database/pool/session-settings.js';
import { usualTarget, type ConnectionTarget } from '../database/pool/connection-target.js';
import { ENTITIES } from '../entities.js';

/** Connects to `DATABASE_URL`, or to the embedded database, which it starts for this command unless the service runs. */
export async function openDatabase(settings: Settings) {
  const { database, stop } = await locate(settings);
  try {
    const dataSource = await new DataSource({
      ...dataSourceOptions(database, 1),
      entities: ENTITIES,
    }).initialize();
    if (!keepsSession(dataSource)) await requireSettings(dataSource);
    return {
      dataSource,
      async close() {
        await dataSource.destroy();
        await stop?.();
      },
    };
  } catch (error) {
    await stop?.();
    throw error;
  }
}

async function locate(
  settings: Settings,
): Promise<{ database: ConnectionTarget | string; stop?: () => Promise<void> }> {
  const { databaseUrl, dataDir } = settings;
  if (databaseUrl) return { database: usualTarget(settings) };
  if (!existsSync(join(dataDir, 'postgres'))) {
    const remedy = 'start the service once, or set DATABASE_URL or DATA_DIR';
    throw new Error(`There is no database in ${dataDir}: ${remedy}.`);
  }
  const running = runningEmbeddedPostgres(dataDir);
  if (running) return { database: running };
  const started = await startEmbeddedPostgres({ dataDir, log: () => undefined });
  return { database: started.url, stop: () => started.stop() };
}

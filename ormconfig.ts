import 'reflect-metadata';
import { DataSource } from 'typeorm';
import { loadSettings } from './src/settings.js';
import { dataSourceOptions } from './src/platform/database/pool/data-source.js';
import { directTarget } from './src/platform/database/pool/connection-target.js';
import { ENTITIES, MIGRATIONS } from './src/entities.js';

const settings = loadSettings();
if (!settings.databaseUrl) throw new Error('The TypeORM CLI needs DATABASE_URL.');

/** The DataSource of the TypeORM CLI: `npm run migration -- migration:show`. */
export default new DataSource({
  ...dataSourceOptions(directTarget(settings), settings.databasePoolSize),
  entities: ENTITIES,
  migrations: MIGRATIONS,
});

import 'reflect-metadata';
import { DataSource } from 'typeorm';
import { loadSettings } from './src/config/load-settings.js';
import { dataSourceOptions } from './src/database/data-source.js';
import { ENTITIES } from './src/entities.js';

const { databaseUrl, databasePoolSize } = loadSettings();
if (!databaseUrl) throw new Error('The TypeORM CLI needs DATABASE_URL.');

/** The DataSource of the TypeORM CLI: `npm run migration -- migration:show`. */
export default new DataSource({
  ...dataSourceOptions(databaseUrl, databasePoolSize),
  entities: ENTITIES,
});

import { Logger } from '@nestjs/common';
import { currentSecret } from '../../config/secrets/current-secret.js';
import { InvalidSettings } from '../../config/settings/invalid-settings.js';
import type { Setting } from '../../config/settings/setting-row.js';
import { settingsTable } from '../../config/settings/settings-table.js';
import type { Settings } from '../../config/settings/settings.js';
import { clientFor, type DatabaseClient } from './client.js';
import type { Database } from './data-source.js';
import { errorMessage } from '../statements/error-facts.js';

const logger = new Logger('Database');

/** One for each service, whose parts share the client's class: so a fault of the URL is logged once. */
const usualWays = new WeakMap<Settings, Database>();

/** The usual way to the database: through a pooler, where there is one. */
export function usualWay(settings: Settings): Database {
  const { secretFiles, databaseUrl, databasePooler } = settings;
  const way = usualWays.get(settings) ?? {
    Client: clientAt(databaseUrl!, settingsTable.databaseUrl, secretFiles, databasePooler),
    pooler: databasePooler,
  };
  usualWays.set(settings, way);
  return way;
}

/** The way around the pooler: for what lives longer than a transaction. It is the usual one, unless another was set. */
export function directWay(settings: Settings): Database {
  const { secretFiles, databaseUrl, databaseDirectUrl } = settings;
  if (databaseDirectUrl === databaseUrl) return usualWay(settings);
  return {
    Client: clientAt(databaseDirectUrl!, settingsTable.databaseDirectUrl, secretFiles, 'session'),
    pooler: 'session',
  };
}

/**
 * @param url start.ts has made sure that there is one
 * @throws InvalidSettings where pg cannot use it: mostly a file that it names, which cannot be read
 */
function clientAt(
  url: string,
  { name, parser }: Setting<string>,
  secretFiles: Settings['secretFiles'],
  pooler: Database['pooler'],
): DatabaseClient {
  const current = currentSecret(secretFiles.get(name), parser, url, (line) => logger.warn(line));
  try {
    return clientFor(() => current.now(), pooler);
  } catch (error) {
    throw new InvalidSettings([`${name}: cannot be used: ${errorMessage(error)}`]);
  }
}

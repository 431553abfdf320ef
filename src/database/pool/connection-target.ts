import { Logger } from '@nestjs/common';
import { currentSecret } from '../../config/secrets/current-secret.js';
import { InvalidSettings } from '../../config/settings/invalid-settings.js';
import type { Setting } from '../../config/settings/setting-row.js';
import { settingsTable } from '../../config/settings/settings-table.js';
import type { Settings } from '../../config/settings/settings.js';
import { clientFor } from './client.js';
import type { ConnectionTarget } from './data-source.js';
import { errorMessage } from '../statements/error-facts.js';

const logger = new Logger('Database');

/** Returns the target of the pool: `DATABASE_URL`, which may be a pooler's. */
export function usualTarget(settings: Settings): ConnectionTarget {
  return targetAt(settings.databaseUrl!, settingsTable.databaseUrl, settings, settings.databasePooler);
}

/** Returns the target that bypasses a pooler, for what lives longer than a transaction; `DATABASE_URL` by default. */
export function directTarget(settings: Settings): ConnectionTarget {
  const { databaseUrl, databaseDirectUrl } = settings;
  if (databaseDirectUrl === databaseUrl) return usualTarget(settings);
  return targetAt(databaseDirectUrl!, settingsTable.databaseDirectUrl, settings, 'session');
}

/** @throws InvalidSettings if pg cannot use the URL: mostly because of an unreadable file that it names */
function targetAt(
  url: string,
  { name, parser }: Setting<string>,
  { secretFiles }: Settings,
  pooler: ConnectionTarget['pooler'],
): ConnectionTarget {
  const secret = currentSecret(secretFiles.get(name), parser, url, (line) => logger.warn(line));
  try {
    return { Client: clientFor(() => secret.now(), pooler), pooler };
  } catch (error) {
    throw new InvalidSettings([`${name}: cannot be used: ${errorMessage(error)}`]);
  }
}

import type { Settings } from '../config/settings.js';
import { clientFor } from './client.js';
import type { Database } from './data-source.js';

/** The usual way to the database: through a pooler, where there is one. */
export function usualWay({ databaseUrl, databasePooler }: Settings): Database {
  return { Client: clientFor(() => databaseUrl!), pooler: databasePooler }; // start.ts has made sure of a URL
}

/** The way around the pooler: for what lives longer than a transaction. It is the usual one, unless another was set. */
export function directWay(settings: Settings): Database {
  const { databaseUrl, databaseDirectUrl } = settings;
  if (databaseDirectUrl === databaseUrl) return usualWay(settings);
  return { Client: clientFor(() => databaseDirectUrl!), pooler: 'session' };
}

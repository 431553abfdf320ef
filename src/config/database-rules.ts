import type { Faults } from './invalid-settings.js';
import type { Values } from './settings.js';

/** Refuses settings of the database that are good each by itself, but not together (contract §2). */
export function applyDatabaseRules(values: Values, faults: Faults): void {
  const { databaseUrl, databaseDirectUrl, databasePooler, redisUrl } = values;
  if (databaseDirectUrl !== undefined && databaseUrl === undefined) {
    faults.add('DATABASE_URL', 'was unset', 'a PostgreSQL URL, as DATABASE_DIRECT_URL is set');
  }
  const wayAround =
    databaseDirectUrl ?? redisUrl ?? ['DATABASE_DIRECT_URL', 'REDIS_URL'].find((name) => faults.has(name));
  if (databasePooler === 'transaction' && wayAround === undefined) {
    const was = 'was "transaction", with neither DATABASE_DIRECT_URL nor REDIS_URL';
    const accepts =
      'one of the two beside it, since pushes cannot travel between instances through such a pooler; or session';
    faults.add('DATABASE_POOLER', was, accepts);
  }
}

import 'reflect-metadata';
import { loadCommandSettings } from '../../settings.js';
import { errorReason } from '../../platform/errors/error-facts.js';

const NO_CLUSTER = 'this database is no Citus cluster: it lacks the extension "citus", and nothing was done';

/** `latchkey distribute`. @returns the exit code: 0 done, 1 not done, 2 no Citus */
export async function runDistribute(): Promise<number> {
  try {
    const settings = loadCommandSettings('none');
    if (settings.databaseDirectUrl === undefined)
      return fail(2, 'DATABASE_URL is not set, and the embedded PostgreSQL has no Citus');
    // Loaded after the settings, which fail fast: these modules load the whole ORM.
    const { distributeDatabase } = await import('./distribute.js');
    const { directTarget } = await import('../../platform/database/pool/connection-target.js');
    const log = (line: string): void => void process.stdout.write(`${line}\n`);
    const isCluster = await distributeDatabase(directTarget(settings), log);
    if (!isCluster) return fail(2, NO_CLUSTER);
    log('Done: start the service now.');
    return 0;
  } catch (error) {
    return fail(1, errorReason(error));
  }
}

function fail(code: number, message: string): number {
  process.stderr.write(`distribute: ${message}\n`);
  return code;
}

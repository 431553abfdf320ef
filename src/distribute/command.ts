import 'reflect-metadata';
import { loadCommandSettings } from '../config/settings/load-settings.js';
import type { Settings } from '../config/settings/settings.js';
import { errorReason } from '../database/statements/error-facts.js';

const USAGE = `Usage: latchkey distribute

Spreads the tables over a Citus cluster by user_id, with their rows, and brings the schema up to date before. May be repeated.
DATABASE_URL (or DATABASE_DIRECT_URL) is the coordinator's. Stop the service first. See docs/scaling-out.md.
`;

/** `latchkey distribute` (contract §1). @returns the exit code: 0 done, 1 not done, 2 wrong usage, or no Citus */
export async function runDistribute(argv: readonly string[]): Promise<number> {
  if (argv.length > 0) {
    const isHelp = argv[0] === '--help' || argv[0] === '-h';
    (isHelp ? process.stdout : process.stderr).write(USAGE);
    return isHelp ? 0 : 2;
  }
  try {
    const settings = loadCommandSettings(false);
    if (settings.databaseDirectUrl === undefined)
      return fail(2, 'DATABASE_URL is not set, and the embedded PostgreSQL has no Citus');
    return await run(settings);
  } catch (error) {
    return fail(1, errorReason(error));
  }
}

async function run(settings: Settings): Promise<number> {
  // Loaded after the settings, which fail fast: these modules load the whole ORM.
  const { distributeDatabase, NoCitus } = await import('./distribute.js');
  const { directTarget } = await import('../database/pool/connection-target.js');
  const log = (line: string): void => void process.stdout.write(`${line}\n`);
  try {
    await distributeDatabase(directTarget(settings), log);
  } catch (error) {
    if (error instanceof NoCitus) return fail(2, error.message);
    throw error;
  }
  log('Done: start the service now.');
  return 0;
}

function fail(code: number, message: string): number {
  process.stderr.write(`distribute: ${message}\n`);
  return code;
}

import 'reflect-metadata';
import { InvalidSettings } from '../config/settings/invalid-settings.js';
import { loadCommandSettings } from '../config/settings/load-settings.js';
import { errorCode, errorMessage } from '../database/statements/error-facts.js';
import { parseArguments, USAGE } from './arguments.js';

// https://www.postgresql.org/docs/current/errcodes-appendix.html: undefined_table, undefined_column
const NOT_MIGRATED = new Set<unknown>(['42P01', '42703']);

/** `latchkey keys` (contract §1). @returns the exit code: 0 done, 1 not done, 2 wrong usage */
export async function runKeys(argv: readonly string[]): Promise<number> {
  const command = parseArguments(argv);
  if (!command || command === 'help') {
    (command ? process.stdout : process.stderr).write(USAGE);
    return command ? 0 : 2;
  }
  try {
    const settings = loadCommandSettings(command.name !== 'list'); // `list` only reads, and no private parts
    // Loaded after arguments and settings, which fail fast: these modules bring the whole ORM.
    const [{ openDatabase }, { run }] = await Promise.all([import('./open-database.js'), import('./run.js')]);
    const database = await openDatabase(settings);
    try {
      process.stdout.write(await run(command, settings, database.dataSource));
    } finally {
      await database.close();
    }
    return 0;
  } catch (error) {
    process.stderr.write(`${describe(error)}\n`);
    return 1;
  }
}

/** One line, without a stack: what an operator can do something about. */
function describe(error: unknown): string {
  if (error instanceof InvalidSettings) return error.message;
  if (NOT_MIGRATED.has(errorCode(error))) {
    return 'The database is not the one of this version: start the service once, which brings it up to date.';
  }
  return errorMessage(error) || String(errorCode(error));
}

import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { loadCommandSettings } from '../../settings.js';
import { errorCode, errorReason } from '../../platform/errors/error-facts.js';
import type { Command } from './run.js';

const USAGE = `Usage: latchkey keys <command>

  list [--json]   the signing keys: their states and times
  rotate          make the next key: published at once, in use ten minutes later
  revoke <kid>    withdraw a key: its tokens are rejected within a second
  reencrypt       after SECRET_KEY was changed; the former one is in OLD_SECRET_KEY or OLD_SECRET_KEY_FILE

Settings are those of the service: the environment, or .env. See docs/keys.md.
`;

// https://www.postgresql.org/docs/current/errcodes-appendix.html: undefined_table, undefined_column
const NOT_MIGRATED = new Set<unknown>(['42P01', '42703']);
const OTHER_SCHEMA =
  'The database has not the schema of this version: start the service once, which migrates it.';

/** Runs `latchkey keys`. @returns the exit code: 0 done, 1 not done, 2 wrong usage */
export async function runKeys(argv: readonly string[]): Promise<number> {
  const command = parseArguments(argv);
  if (!command || command === 'help') {
    (command ? process.stdout : process.stderr).write(USAGE);
    return command ? 0 : 2;
  }
  try {
    // `list` decrypts no private parts
    const settings = loadCommandSettings(command.name === 'list' ? 'none' : 'existing');
    const { run } = await import('./run.js'); // loads the ORM, so arguments and settings are validated before
    process.stdout.write(await run(command, settings));
    return 0;
  } catch (error) {
    const reason = NOT_MIGRATED.has(errorCode(error)) ? OTHER_SCHEMA : errorReason(error);
    process.stderr.write(`${reason}\n`);
    return 1;
  }
}

export function parseArguments(args: readonly string[]): Command | 'help' | undefined {
  const { values, positionals } = read(args) ?? { values: {}, positionals: [] };
  const [name, kid, ...rest] = positionals;
  if (values.help) return 'help';
  if (name === 'list' && kid === undefined) return { name, json: values.json ?? false };
  if (values.json || rest.length > 0) return undefined;
  if (name === 'revoke' && kid) return { name, kid };
  return (name === 'rotate' || name === 'reencrypt') && kid === undefined ? { name } : undefined;
}

function read(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
    });
  } catch {
    return undefined; // an unknown option
  }
}

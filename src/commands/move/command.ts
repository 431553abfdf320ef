import 'reflect-metadata';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { InvalidSettings } from '../../platform/config/settings/invalid-settings.js';
import { databaseUrl } from '../../platform/config/urls/database-url.js';
import { errorCode, errorReason } from '../../platform/errors/error-facts.js';
import { loadCommandSettings } from '../../settings.js';
import type { Surroundings } from './fill.js';
import { Progress } from './progress.js';

type Command =
  | { readonly name: 'move-database'; readonly url: string; readonly distribute: boolean }
  | { readonly name: 'backup'; readonly file: string }
  | { readonly name: 'restore'; readonly file: string; readonly keepSessions: boolean };

type Name = Command['name'];

const SETTINGS = 'Settings are those of the service: the environment, or .env.';

const USAGE: Readonly<Record<Name, string>> = {
  'move-database': `Usage: latchkey move-database <url | -> [--distribute]

Copies the database of the stopped service, also the embedded one, to an empty PostgreSQL 15 or newer.
  <url>         of the empty database (postgres://…)
  -             reads the URL from standard input, so that no list of processes has the password
  --distribute  to a cluster: distributes the tables then

The source is only read. After an interruption, repeat the command. ${SETTINGS}
See docs/database.md#moving-to-another-database.
`,
  backup: `Usage: latchkey backup <file>

Writes a backup to a new file of mode 0600, also while the service runs. It has no access tokens and no SECRET_KEY.
${SETTINGS} See docs/maintenance.md#backup-and-restore.
`,
  restore: `Usage: latchkey restore <file> [--keep-sessions]

Restores a backup into the empty database of the settings, which is made if it is the embedded one. The service is stopped.
  --keep-sessions  without it, all sessions end, and each user signs in again

SECRET_KEY is that of the backup. ${SETTINGS} See docs/maintenance.md#backup-and-restore.
`,
};

/** What a failed command has not done. */
const LEFT: Readonly<Record<Name, string>> = {
  'move-database': 'nothing was copied',
  backup: 'there is no backup',
  restore: 'nothing was restored',
};

export const runMoveDatabase = (argv: readonly string[]): Promise<number> =>
  runCommand('move-database', argv);
export const runBackup = (argv: readonly string[]): Promise<number> => runCommand('backup', argv);
export const runRestore = (argv: readonly string[]): Promise<number> => runCommand('restore', argv);

/** @returns the exit code: 0 done, 1 not done, 2 wrong usage */
async function runCommand(name: Name, argv: readonly string[]): Promise<number> {
  const parsed = parseArguments(name, argv);
  if (!parsed || parsed === 'help') {
    (parsed ? process.stdout : process.stderr).write(USAGE[name]);
    return parsed ? 0 : 2;
  }
  const command = 'url' in parsed && parsed.url === '-' ? { ...parsed, url: await readUrl() } : parsed;
  if ('url' in command && !isUrl(command.url)) return fail(name, 2, `the URL is not ${databaseUrl.accepts}`);
  // `latchkey backup … | head -1` closes the pipe; an error without a listener would end the command
  // half-way.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined);
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => stopping.abort(new Error('interrupted')));
  try {
    const settings = loadCommandSettings(name === 'move-database' ? 'none' : 'existing');
    const print = (line: string): void => void process.stdout.write(`${line}\n`);
    const progress = new Progress(process.stderr);
    await run(command, { settings, signal: stopping.signal, print, progress });
    return 0;
  } catch (error) {
    if (error instanceof InvalidSettings) return fail(name, 1, `${error.message}\n${SETTINGS}`);
    if (errorCode(error) === 'COPIED') return fail(name, 1, errorReason(error));
    const reason = stopping.signal.aborted ? 'interrupted' : reasonOf(error);
    return fail(name, 1, `${reason}; ${LEFT[name]}`);
  }
}

/** Loads the ORM: arguments and settings are validated before. */
async function run(command: Command, surroundings: Surroundings): Promise<void> {
  if (command.name === 'move-database') {
    const { moveDatabase } = await import('./move-database.js');
    return moveDatabase(command.url, command.distribute, surroundings);
  }
  const { backUp, restore } = await import('./backup.js');
  if (command.name === 'backup') return backUp(command.file, surroundings);
  return restore(command.file, command.keepSessions, surroundings);
}

function parseArguments(name: Name, args: readonly string[]): Command | 'help' | undefined {
  const { values, positionals } = read(args) ?? { values: {}, positionals: [] };
  const { help = false, distribute = false, 'keep-sessions': keepSessions = false } = values;
  if (help) return 'help';
  const [value, ...rest] = positionals;
  if (!value || rest.length > 0) return undefined;
  if (distribute && name !== 'move-database') return undefined;
  if (keepSessions && name !== 'restore') return undefined;
  if (name === 'move-database') return { name, url: value, distribute };
  return name === 'backup' ? { name, file: value } : { name, file: value, keepSessions };
}

function read(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        help: { type: 'boolean', short: 'h' },
        distribute: { type: 'boolean' },
        'keep-sessions': { type: 'boolean' },
      },
    });
  } catch {
    return undefined; // an unknown option
  }
}

async function readUrl(): Promise<string> {
  return (await text(process.stdin)).trim();
}

function isUrl(url: string): boolean {
  try {
    return databaseUrl.parse(url) !== undefined;
  } catch {
    return false;
  }
}

/** By SQLSTATE, or the code of a system error. */
const REASONS: Readonly<Record<string, string>> = {
  '53100': 'the disk of the database is full: make room',
  ENOSPC: 'the disk of the file is full: make room',
  EEXIST: 'the file exists, and a backup overwrites none: name another file',
  '55P03': 'a table of the database is in use: end what locks it',
};

function reasonOf(error: unknown): string {
  return REASONS[String(errorCode(error))] ?? errorReason(error);
}

function fail(name: Name, code: 1 | 2, message: string): number {
  process.stderr.write(`${name}: ${message}\n`);
  return code;
}

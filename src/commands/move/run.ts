import { createRequire } from 'node:module';
import type { Client } from 'pg';
import { endEverySession } from '../../device/end-sessions.js';
import { MIGRATIONS } from '../../entities.js';
import type { Settings } from '../../platform/config/settings/settings.js';
import { targetOf, type ConnectionTarget } from '../../platform/database/pool/connection-target.js';
import { dataSourceOptions } from '../../platform/database/pool/data-source.js';
import { migrate } from '../../platform/database/start/migrate.js';
import { errorCode, errorReason } from '../../platform/errors/error-facts.js';
import { distributeDatabase, requireCluster } from '../distribute/distribute.js';
import { readBackup, writeBackup, type Header } from './backup-file.js';
import {
  inTransaction,
  lockTables,
  readTables,
  requireNoRows,
  storeTables,
  type Table,
  type TableRows,
} from './copy.js';
import { openOwnDatabase, requireCurrent, requireEmpty, requireNoInstance } from './databases.js';
import type { Progress } from './progress.js';

const { version: VERSION } = createRequire(import.meta.url)('latchkey/package.json') as { version: string };
const ALL_MIGRATIONS = MIGRATIONS.map(({ name }) => name);

export type Command =
  | { readonly name: 'move-database'; readonly url: string; readonly distribute: boolean }
  | { readonly name: 'backup'; readonly file: string }
  | { readonly name: 'restore'; readonly file: string; readonly keepSessions: boolean };

type Of<Name extends Command['name']> = Extract<Command, { readonly name: Name }>;

export interface Surroundings {
  readonly settings: Settings;
  readonly signal: AbortSignal;
  /** Prints a line of the result. */
  readonly print: (line: string) => void;
  readonly progress: Progress;
}

const SNAPSHOT = 'ISOLATION LEVEL REPEATABLE READ READ ONLY';
const MIGRATION_MS = 30_000;

/** Code of an error after the copy (command.ts). */
const COPIED = 'COPIED';

/** Runs a command. @throws a sentence if nothing was copied */
export function run(command: Command, surroundings: Surroundings): Promise<void> {
  if (command.name === 'move-database') return moveDatabase(command, surroundings);
  return command.name === 'backup' ? backUp(command, surroundings) : restore(command, surroundings);
}

async function moveDatabase(
  { url, distribute }: Of<'move-database'>,
  { settings, signal, print, progress }: Surroundings,
): Promise<void> {
  const target = await about('target', () => targetOf(() => url, 'session'));
  const source = await openOwnDatabase(settings);
  try {
    const { tables } = await about('source', () => requireCurrent(source.target));
    await about('source', () => requireNoInstance(source.target));
    await about('target', () => requireEmpty(target));
    if (distribute) await about('target', () => requireCluster(target));
    await about('target', () => makeTables(target, ALL_MIGRATIONS, signal));
    const rows = await inTransaction(source.target, SNAPSHOT, signal, (from) => {
      const read = progress.watch(readTables(from, tables));
      // Changes of an instance that was started meanwhile would be lost.
      const check = () => about('source', () => requireNoInstance(source.target));
      return fill({ target, tables, signal }, read, check);
    });
    print(`Copied ${counted(rows)} of ${tables.length} tables in ${progress.seconds} s.`);
  } finally {
    await source.close();
  }
  if (distribute) await distributeCopy(target, print);
  print('Done: set DATABASE_URL to the new database, then start the service.');
}

async function distributeCopy(target: ConnectionTarget, print: (line: string) => void): Promise<void> {
  try {
    await distributeDatabase(target, print);
  } catch (error) {
    const advice = 'run latchkey distribute with the DATABASE_URL of the new database';
    const message = `the rows are copied, but not distributed (${errorReason(error)}): ${advice}`;
    throw Object.assign(new Error(message, { cause: error }), { code: COPIED });
  }
}

async function backUp({ file }: Of<'backup'>, { settings, signal, print, progress }: Surroundings) {
  const source = await openOwnDatabase(settings, { besideService: true });
  let rows = 0;
  try {
    const { tables, isDistributed } = await requireCurrent(source.target);
    // Several nodes have no common snapshot.
    if (isDistributed) await requireNoInstance(source.target);
    await inTransaction(source.target, SNAPSHOT, signal, async (from) => {
      const header = {
        version: VERSION,
        createdAt: new Date().toISOString(),
        migrations: ALL_MIGRATIONS,
        keyFingerprint: fingerprint(settings),
      };
      rows = await writeBackup(file, header, progress.watch(readTables(from, tables)), signal);
    });
  } finally {
    await source.close();
  }
  print(`Done: ${counted(rows)} in ${progress.seconds} s, in ${file}.`);
  print('It has no SECRET_KEY, without which it cannot be restored: keep that one in another place.');
}

async function restore(
  { file, keepSessions }: Of<'restore'>,
  { settings, signal, print, progress }: Surroundings,
): Promise<void> {
  const { header, tables: stored } = await readBackup(file);
  requireReadable(header, settings);
  const own = await openOwnDatabase(settings, { creates: true });
  try {
    const { target } = own;
    const tables = await requireEmpty(target);
    // Of the backup's version: the next start migrates the rows.
    await makeTables(target, header.migrations, signal);
    let ended = 0;
    const rows = await fill({ target, tables, signal }, progress.watch(stored), async (client) => {
      if (!keepSessions) ended = await endEverySession(client);
    });
    print(`Done: ${counted(rows)} in ${progress.seconds} s, as they were at ${header.createdAt}.`);
    print(
      keepSessions
        ? 'Sessions that were ended after that time are open again: end them once more.'
        : `All sessions were ended (${ended}): each user signs in again.`,
    );
    print('Suspensions, removals and withdrawn keys are as they were then: repeat those of a later time.');
  } finally {
    await own.close();
  }
}

/** @throws if the backup needs another SECRET_KEY or version */
function requireReadable({ migrations, version, keyFingerprint }: Header, settings: Settings): void {
  if (migrations.some((name) => !ALL_MIGRATIONS.includes(name)))
    throw new Error(
      `the backup is of version ${version}, which is newer than ${VERSION}: restore it with that one`,
    );
  if (keyFingerprint !== fingerprint(settings))
    throw new Error('the backup was made with another SECRET_KEY: set that one');
}

/** Identifies SECRET_KEY, which does not follow from it. */
function fingerprint({ secretKey }: Settings): string {
  return secretKey.derive('backup').toString('hex');
}

/** Applies the migrations of these names, all of which this version has. */
async function makeTables(target: ConnectionTarget, names: readonly string[], signal: AbortSignal) {
  const migrations = MIGRATIONS.filter(({ name }) => names.includes(name));
  const retries = { timeoutMs: MIGRATION_MS, signal, log: () => undefined };
  await migrate({ ...dataSourceOptions(target, 1), migrations }, retries);
}

interface Filled {
  readonly target: ConnectionTarget;
  readonly tables: readonly Table[];
  readonly signal: AbortSignal;
}

/** Stores rows in empty tables, all or none. @param last runs before the commit @returns number of rows */
function fill(
  { target, tables, signal }: Filled,
  rows: AsyncIterable<TableRows>,
  last: (client: Client) => Promise<void>,
): Promise<number> {
  return inTransaction(target, 'READ WRITE', signal, async (client) => {
    await lockTables(client, tables);
    await requireNoRows(client, tables);
    const count = await storeTables(client, rows, signal);
    await last(client);
    return count;
  });
}

async function about<Result>(
  database: 'source' | 'target',
  work: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw Object.assign(new Error(`${database}: ${errorReason(error)}`, { cause: error }), {
      code: errorCode(error),
    });
  }
}

function counted(rows: number): string {
  return rows === 1 ? '1 row' : `${rows.toLocaleString('en')} rows`;
}

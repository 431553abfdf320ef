import { join } from 'node:path';
import { targetOf, type ConnectionTarget } from '../../platform/database/pool/connection-target.js';
import { errorCode, errorReason } from '../../platform/errors/error-facts.js';
import { distributeDatabase, requireCluster } from '../distribute/distribute.js';
import { inTransaction, readTables, SNAPSHOT } from './copy.js';
import {
  ALL_MIGRATIONS,
  openOwnDatabase,
  requireCurrent,
  requireEmpty,
  requireNoInstance,
} from './databases.js';
import { counted, fill, makeTables, type Surroundings } from './fill.js';

/** Code of an error after the copy, which says what is left to do. */
const COPIED = 'COPIED';

/** Copies the database of the settings to another one. @throws a sentence if nothing was copied */
export async function moveDatabase(
  url: string,
  distribute: boolean,
  surroundings: Surroundings,
): Promise<void> {
  const { settings, signal, print, progress } = surroundings;
  const target = await about('target', () => targetOf(() => url, 'session'));
  const source = await openOwnDatabase(settings);
  const requireStopped = () => about('source', () => requireNoInstance(source.target));
  try {
    const { tables } = await about('source', () => requireCurrent(source.target));
    await requireStopped();
    const { isDistributed } = await about('target', () => requireEmpty(target, ALL_MIGRATIONS));
    if (distribute) await about('target', () => requireCluster(target));
    await about('target', () => makeTables(target, ALL_MIGRATIONS, signal));
    const rows = await inTransaction(source.target, SNAPSHOT, signal, (from) => {
      // Changes of an instance that was started during the copy would be lost.
      const filling = { target, tables, isDistributed, last: requireStopped };
      return fill(filling, progress.watch(readTables(from, tables)), surroundings);
    });
    print(`Copied ${counted(rows)} of ${tables.length} tables in ${progress.seconds} s.`);
  } finally {
    await source.close();
  }
  if (distribute) await distributeCopy(target, print);
  print('Done: set DATABASE_URL to the new database, then start the service.');
  if (settings.databaseUrl === undefined)
    print(`Move ${join(settings.dataDir, 'postgres')} away: a start without DATABASE_URL would use it.`);
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

import type { Client } from 'pg';
import { endEverySession } from '../../device/end-sessions.js';
import type { Settings } from '../../platform/config/settings/settings.js';
import { VERSION } from '../../platform/http/static-files.js';
import { readBackup, writeBackup, type Header } from './backup-file.js';
import { inTransaction, readTables, SNAPSHOT } from './copy.js';
import {
  ALL_MIGRATIONS,
  openOwnDatabase,
  requireCurrent,
  requireEmpty,
  requireNoInstance,
  requireOwnKey,
} from './databases.js';
import { counted, fill, makeTables, type Surroundings } from './fill.js';

/** Writes the database of the settings to a file. @throws a sentence if there is no backup */
export async function backUp(file: string, { settings, signal, print, progress }: Surroundings) {
  const source = await openOwnDatabase(settings, { besideService: true });
  let rows = 0;
  try {
    const { tables, isDistributed } = await requireCurrent(source.target);
    await requireOwnKey(source.target, settings);
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

/** Restores a file into the database of the settings. @throws a sentence if nothing was restored */
export async function restore(
  file: string,
  keepSessions: boolean,
  surroundings: Surroundings,
): Promise<void> {
  const { settings, signal, print, progress } = surroundings;
  const { header, tables: stored } = await readBackup(file);
  requireReadable(header, settings);
  const own = await openOwnDatabase(settings, { creates: true });
  try {
    const { target } = own;
    const schema = await requireEmpty(target, header.migrations);
    // Of the backup's version: the next start migrates the rows.
    await makeTables(target, header.migrations, signal);
    let ended = 0;
    async function endSessions(client: Client): Promise<void> {
      if (!keepSessions) ended = await endEverySession(client);
    }
    const filling = { target, ...schema, stored: endSessions };
    const rows = await fill(filling, progress.watch(stored), surroundings);
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

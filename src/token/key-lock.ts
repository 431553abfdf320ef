import type { DataSource, EntityManager } from 'typeorm';
import { KEY_LIVES, type StoredKey } from './key-life.js';

/** Any fixed number will do, as long as every version of the service takes the same. */
const LOCK = 0x6c6b_0002;

/**
 * All changes of the signing keys go through here, one after the other: instances that start together make only one key,
 * and only one of them rotates.
 *
 * @param change is given all keys, newest first, and runs in one transaction
 */
export function changeKeys<Result>(
  dataSource: DataSource,
  change: (manager: EntityManager, keys: StoredKey[]) => Promise<Result>,
): Promise<Result> {
  return dataSource.transaction(async (manager) => {
    await manager.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
    const keys = await manager.query<StoredKey[]>(
      `SELECT * FROM ${KEY_LIVES} ORDER BY "activeAt" DESC, kid DESC`,
    );
    return change(manager, keys);
  });
}

import type { DataSource, EntityManager } from 'typeorm';
import { Channel, StoredChannelEvent } from './channel-event.entity.js';

/** Events that one statement removes: far below its timeout, also if each has 64 KiB. */
const SLICE = 1000;

// Appends lock this row as well.
const LOCK_COUNTER = 'SELECT FROM channels WHERE user_id = $1 FOR UPDATE';

// Counted by rows: expired events leave gaps between offsets. An array, since PostgreSQL may run `IN` as a nested loop.
const REMOVE_SLICE = `
  DELETE FROM channel_events
  WHERE user_id = $1 AND event_offset = ANY (ARRAY(
    SELECT event_offset FROM channel_events WHERE user_id = $1 ORDER BY event_offset LIMIT ${SLICE}))`;

/** Removes most of a history, in short transactions: one statement could not remove a long history. */
export async function removeMostEvents(dataSource: DataSource, userId: string): Promise<void> {
  while ((await removeSlice(dataSource, userId)) >= SLICE);
}

function removeSlice(dataSource: DataSource, userId: string): Promise<number> {
  return dataSource.transaction(async (manager) => {
    await manager.query(LOCK_COUNTER, [userId]);
    const [, removed] = await manager.query<[unknown, number]>(REMOVE_SLICE, [userId]);
    return removed;
  });
}

/** Removes the rest of the history and its counter. The caller has locked the user, so nothing is appended. */
export async function removeChannel(manager: EntityManager, userId: string): Promise<void> {
  await manager.delete(Channel, { userId });
  await manager.delete(StoredChannelEvent, { userId });
}

import { LessThanOrEqual, type DataSource, type EntityManager } from 'typeorm';
import { Channel, StoredChannelEvent } from './channel-event.entity.js';

/** Events that one statement removes: far below its timeout, also if each has 64 KiB. */
const SLICE = 1000;

/** Removes most of a history, in short transactions: one statement could not remove a long history. */
export async function removeMostEvents(dataSource: DataSource, userId: string): Promise<void> {
  while ((await dataSource.transaction((manager) => removeSlice(manager, userId))) >= SLICE);
}

async function removeSlice(manager: EntityManager, userId: string): Promise<number> {
  // Appends lock this row as well.
  await manager.findOne(Channel, { where: { userId }, lock: { mode: 'pessimistic_write' } });
  // Counted by rows: expired events leave gaps between offsets.
  const [last] = await manager.find(StoredChannelEvent, {
    select: { userId: true, eventOffset: true },
    where: { userId },
    order: { eventOffset: 'ASC' },
    skip: SLICE - 1,
    take: 1,
  });
  const slice = { userId, ...(last && { eventOffset: LessThanOrEqual(last.eventOffset) }) };
  return (await manager.delete(StoredChannelEvent, slice)).affected!;
}

/**
 * Removes the rest of the history and its counter. The caller has locked the user: nothing is appended.
 * @public
 */
export async function removeChannel(manager: EntityManager, userId: string): Promise<void> {
  await manager.delete(Channel, { userId });
  await manager.delete(StoredChannelEvent, { userId });
}

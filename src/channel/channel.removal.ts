import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { StoredChannelEvent } from './channel-event.entity.js';
import { Channel } from './channel.entity.js';
import { PresenceStore } from './presence.store.js';

/** Events that one statement removes: far below its timeout, also where each has the 64 KiB of a request. */
const SLICE = 1000;

// Whoever appends, and trims, holds it as well.
const LOCK_COUNTER = 'SELECT FROM channels WHERE user_id = $1 FOR UPDATE';

// Counted by rows: those that had a short `ttl` have left gaps between the offsets. An array, since `IN` may be a join that reads
// each of them for each.
const REMOVE_SLICE = `
  DELETE FROM channel_events
  WHERE user_id = $1 AND event_offset = ANY (ARRAY(
    SELECT event_offset FROM channel_events WHERE user_id = $1 ORDER BY event_offset LIMIT ${SLICE}))`;

/** Removes what a user's channel holds, for the removal of the user. */
@Injectable()
export class ChannelRemoval {
  constructor(
    private readonly dataSource: DataSource,
    private readonly presence: PresenceStore,
  ) {}

  /**
   * Removes who is connected, and almost all of the history, in transactions of its own: a history may be far longer than one
   * statement can remove. What is left, and what comes meanwhile, is for `remove`.
   */
  async begin(userId: string): Promise<void> {
    while ((await this.removeSlice(userId)) >= SLICE);
    await this.presence.forget(userId);
  }

  /** Removes the history and its counter. Nobody appends to it meanwhile: the user and their devices are locked. */
  async remove(manager: EntityManager, userId: string): Promise<void> {
    await manager.delete(Channel, { userId });
    await manager.delete(StoredChannelEvent, { userId });
  }

  private removeSlice(userId: string): Promise<number> {
    return this.dataSource.transaction(async (manager) => {
      await manager.query(LOCK_COUNTER, [userId]);
      const [, removed] = await manager.query<[unknown, number]>(REMOVE_SLICE, [userId]);
      return removed;
    });
  }
}

import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { LARGEST_TRIM, OWN_EVENTS_TTL, TRIM_EVERY } from './append.sql.js';
import { ChannelHistory, type Appended, type UnstoredEvent } from './channel.history.js';

const COUNT = `
  INSERT INTO channels AS c (user_id, last_offset) VALUES ($1, 1)
  ON CONFLICT (user_id) DO UPDATE SET last_offset = c.last_offset + 1
  RETURNING c.last_offset`;

const STORE = `
  INSERT INTO channel_events (user_id, event_offset, id, event, data, device_id, sent_at, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, now(), now() + make_interval(secs => $7))
  RETURNING event_offset, sent_at`;

const TRIM = `
  DELETE FROM channel_events
  WHERE user_id = $1 AND event_offset < least($2::bigint, (
    SELECT min(event_offset) + ${LARGEST_TRIM} FROM channel_events WHERE user_id = $1))`;

/**
 * History on Citus: an event is appended by several statements, each of which is one task on the user's node.
 * Citus runs an INSERT inside a `WITH` in six steps with a two-phase commit, at a fifth of the speed.
 */
@Injectable()
export class CitusChannelHistory extends ChannelHistory {
  protected override async append(
    manager: EntityManager,
    events: readonly UnstoredEvent[],
  ): Promise<Appended[]> {
    const appended: Appended[] = [];
    for (const event of events) {
      const stored = { ...event, data: JSON.stringify(event.data), ttl: OWN_EVENTS_TTL };
      appended.push(await appendInSteps(manager, stored, this.settings.channelHistory));
    }
    return appended;
  }
}

/**
 * Appends one event, in the transaction of the manager, as APPEND does.
 * @param event `data` is JSON, `ttl` in seconds
 * @param history `Settings.channelHistory`
 */
export async function appendInSteps(
  manager: EntityManager,
  { userId, id, event, data, deviceId, ttl }: UnstoredEvent & { readonly data: string; readonly ttl: number },
  history: number,
): Promise<Appended> {
  const [counter] = await manager.query<{ last_offset: string }[]>(COUNT, [userId]);
  const offset = Number(counter!.last_offset);
  const values = [userId, offset, id, event, data, deviceId, ttl];
  const [stored] = await manager.query<Appended[]>(STORE, values);
  await trim(manager, userId, { before: offset - 1, last: offset }, history);
  return stored!;
}

/** Trims a history if new offsets pass one that TRIM_EVERY divides, as APPEND does. */
export async function trim(
  manager: EntityManager,
  userId: string,
  { before, last }: { readonly before: number; readonly last: number },
  history: number,
): Promise<void> {
  const passed = last - (last % TRIM_EVERY);
  if (passed > before) await manager.query(TRIM, [userId, passed - history]);
}

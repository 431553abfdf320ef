import type { EntityManager } from 'typeorm';
import type { ChannelEvent } from '../events.js';
import { LARGEST_TRIM, TRIM_EVERY } from './append.sql.js';

/** Event to append; `data` is JSON, `ttl` in seconds. */
type NewEvent = Omit<ChannelEvent, 'offset' | 'sentAt'> & { readonly data: string; readonly ttl: number };

export interface Appended {
  readonly event_offset: string;
  readonly sent_at: Date;
}

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
 * Appends an event as APPEND_TO_TARGET does, for Citus in several statements: each is one task on the user's node. Citus runs an
 * INSERT inside a `WITH` in six steps with a two-phase commit, at a fifth of the speed.
 * @param manager of the transaction that locks the counter's row until it ends
 */
export async function appendInSteps(
  manager: EntityManager,
  { userId, id, event, data, deviceId, ttl }: NewEvent,
  history: number,
): Promise<Appended> {
  const [counter] = await manager.query<{ last_offset: string }[]>(COUNT, [userId]);
  const offset = Number(counter!.last_offset);
  const values = [userId, offset, id, event, data, deviceId, ttl];
  const [stored] = await manager.query<Appended[]>(STORE, values);
  if (offset % TRIM_EVERY === 0) await manager.query(TRIM, [userId, offset - history]);
  return stored!;
}

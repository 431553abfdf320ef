import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { LARGEST_TRIM, OWN_EVENTS_TTL, TRIM_EVERY } from '../channel/append.sql.js';
import { ChannelHistory, type Appended, type UnstoredEvent } from '../channel/channel.history.js';

// Each is one task on the node of a shard, to which `users` leads. Locks are taken in one order.

/** Takes offsets. Parameters: users of a shard, and for each the number of events. */
const COUNT = `
  INSERT INTO channels AS c (user_id, last_offset)
  SELECT u.user_id, n.number FROM unnest($1::uuid[], $2::int[]) AS n (user_id, number)
  JOIN users u ON u.user_id = n.user_id AND u.user_id = ANY($1) ORDER BY u.user_id
  ON CONFLICT (user_id) DO UPDATE SET last_offset = c.last_offset + excluded.last_offset
  RETURNING c.user_id, c.last_offset`;

/** Stores events of a shard. Parameters: the columns of the events, `data` as JSON, the seconds, the time. */
const STORE = `
  INSERT INTO channel_events AS c (user_id, event_offset, id, event, data, device_id, sent_at, expires_at)
  SELECT u.user_id, event_offset, id, event, data, device_id, $8::timestamptz,
    $8::timestamptz + make_interval(secs => ttl)
  FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::uuid[], $7::int[])
    AS n (user_id, event_offset, id, event, data, device_id, ttl)
  JOIN users u ON u.user_id = n.user_id AND u.user_id = ANY($1)`;

const TRIM = `
  DELETE FROM channel_events
  WHERE user_id = $1 AND event_offset < least($2::bigint, (
    SELECT min(event_offset) + ${LARGEST_TRIM} FROM channel_events WHERE user_id = $1))`;

type StoredEvent = Omit<UnstoredEvent, 'data'> & {
  /** `data` of the event. */
  readonly json: string;
  /** Seconds. */
  readonly ttl: number;
};

/**
 * History on Citus: events are appended by several statements, each of which is one task on the user's node.
 * Citus runs an INSERT inside a `WITH` in six steps with a two-phase commit, at a fifth of the speed.
 */
@Injectable()
export class CitusChannelHistory extends ChannelHistory {
  protected override async append(
    manager: EntityManager,
    events: readonly UnstoredEvent[],
  ): Promise<Appended[]> {
    const appended = new Map<string, Appended>();
    for (const userId of new Set(events.map((event) => event.userId))) {
      const own = events.filter((event) => event.userId === userId);
      const stored = own.map(({ data, ...event }) => ({
        ...event,
        json: JSON.stringify(data),
        ttl: OWN_EVENTS_TTL,
      }));
      const rows = await appendInSteps(manager, stored, this.settings.channelHistory);
      own.forEach(({ id }, i) => appended.set(id, rows[i]!));
    }
    return events.map(({ id }) => appended.get(id)!);
  }
}

/**
 * Appends events to channels of one shard, in the transaction of the manager, as APPEND does.
 * @param history `Settings.channelHistory`
 */
export async function appendInSteps(
  manager: EntityManager,
  events: readonly StoredEvent[],
  history: number,
): Promise<Appended[]> {
  const numbers = new Map<string, number>();
  for (const { userId } of events) numbers.set(userId, (numbers.get(userId) ?? 0) + 1);
  const counted = await manager.query<{ user_id: string; last_offset: string }[]>(COUNT, [
    [...numbers.keys()],
    [...numbers.values()],
  ]);
  const next = new Map(
    counted.map(({ user_id: id, last_offset: last }) => [id, Number(last) - numbers.get(id)!]),
  );
  const offsets = events.map(({ userId }) => {
    next.set(userId, next.get(userId)! + 1);
    return next.get(userId)!;
  });
  const [{ sent_at }] = await manager.query<[{ sent_at: Date }]>('SELECT now() AS sent_at');
  await manager.query(STORE, [
    events.map(({ userId }) => userId),
    offsets,
    events.map(({ id }) => id),
    events.map(({ event }) => event),
    events.map(({ json }) => json),
    events.map(({ deviceId }) => deviceId),
    events.map(({ ttl }) => ttl),
    sent_at,
  ]);
  for (const [userId, number] of numbers) {
    const last = next.get(userId)!;
    const passed = last - (last % TRIM_EVERY);
    if (passed > last - number) await manager.query(TRIM, [userId, passed - history]);
  }
  return offsets.map((offset) => ({ event_offset: String(offset), sent_at }));
}

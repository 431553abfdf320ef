/** A history is trimmed by every so many appends (contract §2, CHANNEL_HISTORY) … */
export const TRIM_EVERY = 100;
/**
 * … of so many events at most, a hundred times what has come since. A history that is far too long, since the setting was
 * lowered, comes down step by step: an append that ran into the timeout of statements would be tried, and fail, forever.
 */
export const LARGEST_TRIM = 10_000;

/** Seconds for which the service's own events are kept (contract §7). */
export const OWN_EVENTS_TTL = 86_400;

/** One append, as SQL expressions; where a value is a parameter, its number (`$1`). */
export interface Append {
  readonly userId: string;
  readonly id: string;
  /** The event's name. */
  readonly event: string;
  /** JSON, as text. */
  readonly data: string;
  /** Null: for all of the user's devices, the default. */
  readonly deviceId?: string;
  /** Seconds. */
  readonly ttl: string;
  /** `Settings.channelHistory` */
  readonly history: string;
  /** Something of one row, or of none: then nothing is appended. The expressions above may name its columns. */
  readonly from?: string;
}

/**
 * The part of a statement that appends an event to a user's history, and keeps that in bounds: the three members `counter`
 * (`last_offset`), `channel_event` (`event_offset`, `data`, `sent_at`) and `trimmed` of a `WITH`.
 * The counter's row stays locked until the transaction ends: nobody sees an offset before the one below it.
 */
export function appendEvent(append: Append): string {
  const { userId, id, event, data, deviceId = 'NULL', ttl, history, from = '(SELECT) AS one_row' } = append;
  return `
    counter AS (
      INSERT INTO channels (user_id, last_offset) SELECT ${userId}, 1 FROM ${from}
      ON CONFLICT (user_id) DO UPDATE SET last_offset = channels.last_offset + 1
      RETURNING last_offset
    ), channel_event AS (
      INSERT INTO channel_events (user_id, event_offset, id, event, data, device_id, sent_at, expires_at)
      SELECT ${userId}, last_offset, ${id}, ${event}, ${data}, ${deviceId}, now(), now() + make_interval(secs => ${ttl})
      FROM counter, ${from}
      RETURNING event_offset, data, sent_at
    ), trimmed AS (
      DELETE FROM channel_events
      WHERE user_id = ${userId} AND event_offset < (
        SELECT least(last_offset - ${history}, (
          SELECT min(event_offset) + ${LARGEST_TRIM} FROM channel_events WHERE user_id = ${userId}
        )) FROM counter WHERE last_offset % ${TRIM_EVERY} = 0)
    )`;
}

/** Several appends to one history, as numbers of parameters (`$1`). */
interface AppendAll {
  readonly userId: string;
  /** Array of the events' ids. */
  readonly ids: string;
  /** The name of all of them. */
  readonly event: string;
  /** Array of texts: JSON. */
  readonly data: string;
  /** Seconds. */
  readonly ttl: string;
  /** `Settings.channelHistory` */
  readonly history: string;
}

/**
 * What `appendEvent` does, for several events of one user, in the order of the arrays: the three members `counter`
 * (`last_offset`, `before`), `channel_event` and `trimmed` of a `WITH`. The history is trimmed once, by the last of the offsets
 * that TRIM_EVERY divides; events below that bound are not stored.
 */
export function appendAll({ userId, ids, event, data, ttl, history }: AppendAll): string {
  const bound = `last_offset - last_offset % ${TRIM_EVERY} - ${history}`;
  return `
    counter AS (
      INSERT INTO channels AS c (user_id, last_offset) VALUES (${userId}, cardinality(${ids}::uuid[]))
      ON CONFLICT (user_id) DO UPDATE SET last_offset = c.last_offset + excluded.last_offset
      RETURNING last_offset, last_offset - cardinality(${ids}::uuid[]) AS before
    ), channel_event AS (
      INSERT INTO channel_events (user_id, event_offset, id, event, data, device_id, sent_at, expires_at)
      SELECT ${userId}, before + place, id, ${event}, data, NULL, now(), now() + make_interval(secs => ${ttl})
      FROM counter, unnest(${ids}::uuid[], ${data}::text[]) WITH ORDINALITY AS n (id, data, place)
      WHERE before + place >= ${bound}
    ), trimmed AS (
      DELETE FROM channel_events
      WHERE user_id = ${userId} AND event_offset < (
        SELECT least(${bound}, (
          SELECT min(event_offset) + ${LARGEST_TRIM} FROM channel_events WHERE user_id = ${userId}
        )) FROM counter WHERE last_offset / ${TRIM_EVERY} > before / ${TRIM_EVERY})
    )`;
}

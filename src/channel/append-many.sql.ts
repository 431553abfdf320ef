import { LARGEST_TRIM, TRIM_EVERY } from './append.sql.js';

/**
 * LARGEST_TRIM is for all histories of one statement together, which would else run into the timeout of statements (append.sql.ts);
 * but of each history twice as much goes as has come since, so that it comes down however many share the statement.
 */
const LEAST_TRIM = 2 * TRIM_EVERY;

/** Appends to several histories, as SQL expressions, which may name columns of `from`. */
interface AppendToEach {
  /** The event's name. */
  readonly event: string;
  /** JSON, as text. */
  readonly data: string;
  /** Seconds. */
  readonly ttl: string;
  /** `Settings.channelHistory` */
  readonly history: string;
  /** A member of the same `WITH` with a `user_id`, and no user twice. */
  readonly from: string;
}

/**
 * What `appendEvent` does for one user, for each of several: one event for all of the user's devices. The counters are locked in
 * the order of `user_id`, so that two statements never wait for each other here.
 *
 * The three members `counter`, `channel_event` (`user_id`, `id`, `event_offset`, `data`, `sent_at`) and `trimmed` of a `WITH`.
 */
export function appendToEach({ event, data, ttl, history, from }: AppendToEach): string {
  return `
    counter AS (
      INSERT INTO channels (user_id, last_offset) SELECT user_id, 1 FROM ${from} ORDER BY user_id
      ON CONFLICT (user_id) DO UPDATE SET last_offset = channels.last_offset + 1
      RETURNING user_id, last_offset
    ), channel_event AS (
      INSERT INTO channel_events (user_id, event_offset, id, event, data, device_id, sent_at, expires_at)
      SELECT user_id, last_offset, gen_random_uuid(), ${event}, ${data}, NULL, now(), now() + make_interval(secs => ${ttl})
      FROM counter JOIN ${from} USING (user_id)
      RETURNING user_id, id, event_offset, data, sent_at
    ), trimmed AS (
      DELETE FROM channel_events e USING (
        SELECT user_id, last_offset, greatest(${LEAST_TRIM}, ${LARGEST_TRIM} / count(*) OVER ()) AS most
        FROM counter WHERE last_offset % ${TRIM_EVERY} = 0
      ) AS c
      WHERE e.user_id = c.user_id AND e.event_offset < least(
        c.last_offset - ${history},
        (SELECT min(event_offset) + c.most FROM channel_events m WHERE m.user_id = c.user_id))
    )`;
}

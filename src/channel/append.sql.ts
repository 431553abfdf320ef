/** Offsets divisible by this trim the history (CHANNEL_HISTORY). */
export const TRIM_EVERY = 100;
/** Events that one statement removes at most: after CHANNEL_HISTORY was lowered, appends must not exceed the statement timeout. */
export const LARGEST_TRIM = 10_000;
/** Seconds for which the service's own events are stored (docs/realtime.md#what-the-service-sends). */
export const OWN_EVENTS_TTL = 86_400;

/**
 * Appends an event to a user's history and trims the history, as three members of a `WITH`. The counter's row stays locked until the
 * transaction ends, so offsets become visible in order. Parameters: user, id, name, data as JSON, device (NULL: all), `ttl`,
 * `Settings.channelHistory`. Nothing is appended if the member `target` of the `WITH` has no row.
 */
export const APPEND_TO_TARGET = `
    counter AS (
      INSERT INTO channels (user_id, last_offset) SELECT $1, 1 FROM target
      ON CONFLICT (user_id) DO UPDATE SET last_offset = channels.last_offset + 1
      RETURNING last_offset
    ), channel_event AS (
      INSERT INTO channel_events (user_id, event_offset, id, event, data, device_id, sent_at, expires_at)
      SELECT $1, last_offset, $2, $3, $4, $5, now(), now() + make_interval(secs => $6) FROM counter, target
      RETURNING event_offset, sent_at
    ), trimmed AS (
      DELETE FROM channel_events
      WHERE user_id = $1 AND event_offset < (
        SELECT least(last_offset - $7, (
          SELECT min(event_offset) + ${LARGEST_TRIM} FROM channel_events WHERE user_id = $1
        )) FROM counter WHERE last_offset % ${TRIM_EVERY} = 0)
    )`;

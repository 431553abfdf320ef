/** Offsets divisible by this trim the history (CHANNEL_HISTORY). */
export const TRIM_EVERY = 100;
/** Events that one statement removes at most, within its timeout: CHANNEL_HISTORY may have been lowered. */
export const LARGEST_TRIM = 10_000;
/** Seconds for which the service's own events are stored (docs/realtime.md#what-the-service-sends). */
export const OWN_EVENTS_TTL = 86_400;

/**
 * Appends events of one name to one history, in their order, and trims the history. Parameters: user, ids,
 * name, data as JSON texts, seconds until they expire, `Settings.channelHistory`.
 */
export const APPEND = `
  WITH
  -- Takes the next offsets. The row stays locked until the commit, so offsets become visible in order.
  counter AS (
    INSERT INTO channels AS c (user_id, last_offset) VALUES ($1, cardinality($2::uuid[]))
    ON CONFLICT (user_id) DO UPDATE SET last_offset = c.last_offset + excluded.last_offset
    RETURNING last_offset, last_offset - cardinality($2::uuid[]) AS before,
      last_offset - last_offset % ${TRIM_EVERY} - $6 AS oldest
  ),
  -- Events that the trim would remove are not stored.
  stored AS (
    INSERT INTO channel_events (user_id, event_offset, id, event, data, device_id, sent_at, expires_at)
    SELECT $1, before + place, id, $3, data, NULL, now(), now() + make_interval(secs => $5)
    FROM counter, unnest($2::uuid[], $4::text[]) WITH ORDINALITY AS n (id, data, place)
    WHERE before + place >= oldest
  ),
  -- If the offsets pass one that TRIM_EVERY divides.
  trimmed AS (
    DELETE FROM channel_events
    WHERE user_id = $1 AND event_offset < (
      SELECT least(oldest, (
        SELECT min(event_offset) + ${LARGEST_TRIM} FROM channel_events WHERE user_id = $1))
      FROM counter WHERE last_offset / ${TRIM_EVERY} > before / ${TRIM_EVERY})
  )
  SELECT before + place AS event_offset, now() AS sent_at
  FROM counter, generate_series(1, last_offset - before) AS place
  ORDER BY place`;

/** Offsets divisible by this trim the history (CHANNEL_HISTORY). */
export const TRIM_EVERY = 100;
/** Events that one statement removes at most, within its timeout: CHANNEL_HISTORY may have been lowered. */
export const LARGEST_TRIM = 10_000;
/** Seconds for which the service's own events are stored (docs/realtime.md#what-the-service-sends). */
export const OWN_EVENTS_TTL = 86_400;

/**
 * Returns the parts of a `WITH` that append events to histories, those of a user in their order, and trim the
 * histories. `numbered` has the events: the offset of one is `before + nth`.
 * @param events a query: user_id, id, event, data (JSON text), device_id, ttl (seconds), place
 * @param history `Settings.channelHistory`
 */
export const appending = (events: string, history: string): string => `
  new AS MATERIALIZED (
    SELECT *, row_number() OVER (PARTITION BY user_id ORDER BY place) AS nth,
      count(*) OVER (PARTITION BY user_id) AS number
    FROM (${events}) AS n
  ),
  -- The next offsets. The rows are locked until the commit (13.3.2), so offsets become visible in order. The
  -- manual does not promise the order of INSERT … SELECT … ORDER BY, so a test checks it.
  counter AS (
    INSERT INTO channels AS c (user_id, last_offset)
    SELECT user_id, number FROM new WHERE nth = 1 ORDER BY user_id
    ON CONFLICT (user_id) DO UPDATE SET last_offset = c.last_offset + excluded.last_offset
    RETURNING user_id, last_offset, last_offset - last_offset % ${TRIM_EVERY} - ${history} AS oldest
  ),
  numbered AS MATERIALIZED (
    SELECT new.*, last_offset, oldest, last_offset - number AS before FROM new JOIN counter USING (user_id)
  ),
  -- Events that the trim would remove are not stored.
  stored AS (
    INSERT INTO channel_events (user_id, event_offset, id, event, data, device_id, sent_at, expires_at)
    SELECT user_id, before + nth, id, event, data, device_id, now(), now() + make_interval(secs => ttl)
    FROM numbered WHERE before + nth >= oldest
  ),
  -- If the offsets pass one that TRIM_EVERY divides.
  trimmed AS (
    DELETE FROM channel_events AS old
    USING (
      SELECT user_id, least(oldest, (
        SELECT min(event_offset) + ${LARGEST_TRIM} FROM channel_events WHERE user_id = one.user_id)) AS until
      FROM numbered AS one
      WHERE nth = 1 AND last_offset / ${TRIM_EVERY} > before / ${TRIM_EVERY}
    ) AS full_ones
    WHERE old.user_id = full_ones.user_id AND old.event_offset < full_ones.until
  )`;

/**
 * Appends events of one name, for all devices of their users. Parameters: for each event its user and id;
 * name; for each event its data as JSON text; seconds until they expire, `Settings.channelHistory`.
 */
export const APPEND = `
  WITH ${appending(
    `
    SELECT user_id, id, $3::text AS event, data, NULL::uuid AS device_id, $5::int AS ttl, place
    FROM unnest($1::uuid[], $2::uuid[], $4::text[]) WITH ORDINALITY AS n (user_id, id, data, place)`,
    '$6',
  )}
  SELECT before + nth AS event_offset, now() AS sent_at FROM numbered ORDER BY place`;

/** Offsets divisible by this trim the history (CHANNEL_HISTORY). */
export const TRIM_EVERY = 100;
/** Events that one statement removes at most: after CHANNEL_HISTORY was lowered, appends must not exceed the statement timeout. */
export const LARGEST_TRIM = 10_000;
/** Events that are removed from each history at least, if many share a statement: twice as many as were added. */
const LEAST_TRIM = 2 * TRIM_EVERY;

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

/**
 * Appends one event to each of several histories, as APPEND_TO_TARGET does. Counters are locked in the order of `user_id`, so that two
 * statements never deadlock here.
 * @param from member of the `WITH` with distinct `user_id`s, and the data of the event in `facts`
 * @param history `Settings.channelHistory` as an SQL expression
 */
export function appendToEach(event: string, from: string, history: string): string {
  return `
    counter AS (
      INSERT INTO channels (user_id, last_offset) SELECT user_id, 1 FROM ${from} ORDER BY user_id
      ON CONFLICT (user_id) DO UPDATE SET last_offset = channels.last_offset + 1
      RETURNING user_id, last_offset
    ), channel_event AS (
      INSERT INTO channel_events (user_id, event_offset, id, event, data, device_id, sent_at, expires_at)
      SELECT user_id, last_offset, gen_random_uuid(), '${event}', facts, NULL, now(), now() + make_interval(secs => ${OWN_EVENTS_TTL})
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

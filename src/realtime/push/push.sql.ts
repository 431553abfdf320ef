import { LARGEST_TRIM, TRIM_EVERY } from '../../channel/channel.history.js';
import { withoutComments } from '../../platform/database/sql.js';

/**
 * Finds the target and appends the event. Parameters: user, id, name, data as JSON, device (null: all),
 * seconds until it expires, `Settings.channelHistory`.
 *
 * - Before: the user may exist, and have a channel; nothing is locked.
 * - After: the event has the next offset of the channel, which is returned. Without the user or the device
 *   there is no row, and nothing is written. The channel is locked until the commit.
 * - Concurrently: other pushes to the user, and sign-ins on a device, wait for the channel; a removal of the
 *   user waits for the push.
 *
 * Each step takes from an earlier one what that returns (docs/development.md#order-in-a-statement).
 */
export const PUSH = {
  name: 'push',
  text: withoutComments(`
    WITH
    -- 1. FOR KEY SHARE waits for a removal of the user, and blocks it; neither pushes nor sign-ins (13.3.2).
    --    After a wait the condition is checked again: a removed user is no target (13.2.1).
    target AS (
      SELECT FROM users
      WHERE user_id = $1 AND removed_at IS NULL
        AND ($5::uuid IS NULL OR EXISTS (SELECT FROM devices WHERE user_id = $1 AND device_id = $5))
      FOR KEY SHARE
    ),
    -- 2. The next offset. The row is locked until the commit (13.3.2), so offsets become visible in order.
    counter AS (
      INSERT INTO channels (user_id, last_offset) SELECT $1, 1 FROM target
      ON CONFLICT (user_id) DO UPDATE SET last_offset = channels.last_offset + 1
      RETURNING last_offset
    ),
    -- 3. The event, at the offset that step 2 returns.
    stored AS (
      INSERT INTO channel_events (user_id, event_offset, id, event, data, device_id, sent_at, expires_at)
      SELECT $1, last_offset, $2, $3, $4, $5, now(), now() + make_interval(secs => $6) FROM counter
      RETURNING event_offset, sent_at
    ),
    -- 4. Every hundredth push removes what the history has too many, within a bound. It does not see the event
    --    of step 3 (7.8.4).
    trimmed AS (
      DELETE FROM channel_events
      WHERE user_id = $1 AND event_offset < (
        SELECT least(last_offset - $7, (
          SELECT min(event_offset) + ${LARGEST_TRIM} FROM channel_events WHERE user_id = $1))
        FROM counter WHERE last_offset % ${TRIM_EVERY} = 0)
    )
    SELECT event_offset, sent_at FROM stored`),
};

/**
 * Finds the targets of pushes with a `ttl` of 0, which write nothing. Parameters: arrays of LOCK_TARGET's.
 */
export const FIND_TARGETS = {
  name: 'push-targets',
  text: `
    SELECT n.place::int, NULL AS event_offset, now() AS sent_at
    FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS n (user_id, device_id, place)
    CROSS JOIN LATERAL (
      SELECT FROM users
      WHERE user_id = n.user_id AND removed_at IS NULL AND (n.device_id IS NULL
        OR EXISTS (SELECT FROM devices WHERE user_id = n.user_id AND device_id = n.device_id))
    ) AS target`,
};

/** Locks the target as PUSH does, for Citus. Parameters: user, device (null: all). */
export const LOCK_TARGET = {
  name: 'push-lock',
  text: `
    SELECT user_id FROM users
    WHERE user_id = $1 AND removed_at IS NULL
      AND ($2::uuid IS NULL OR EXISTS (SELECT FROM devices WHERE user_id = $1 AND device_id = $2))
    FOR KEY SHARE`,
};

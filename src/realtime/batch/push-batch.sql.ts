import { appending } from '../../channel/channel.history.js';
import { ONLINE_PRESENCE } from '../../channel/presence.store.js';
import { withoutComments } from '../../platform/database/sql.js';

/** Whether a target is online on some instance; those known to be on this one are not looked up. */
const online = (userId: string): string => `
  n.online OR EXISTS (
    SELECT FROM ${ONLINE_PRESENCE}
    WHERE p.user_id = ${userId} AND (n.device_id IS NULL OR p.device_id = n.device_id)) AS online`;

/**
 * Finds the targets of a batch, and appends its events. Parameters: for each target user, id, number of its
 * event from 1, whether it is online on this instance; for each event name, data as JSON, device (null: all),
 * ttl; `Settings.channelHistory`.
 *
 * - Before: the users may exist, and have channels; nothing is locked.
 * - After: the events of a user have the next offsets, in the order of the batch; those with a `ttl` of 0
 *   have none, and are not stored. A target that does not exist has no row. The channels are locked until the
 *   commit.
 * - Concurrently: what PUSH lets run. Two batches wait for each other's users in one order, without a
 *   deadlock.
 *
 * Locks: users, channels, each by key (docs/development.md#locks). Each step takes from an earlier one what
 * that returns (docs/development.md#order-in-a-statement).
 */
export const PUSH_BATCH = {
  name: 'push-batch',
  text: withoutComments(`
    WITH
    -- 1. Lock the users as PUSH does. ORDER BY comes before the locks (SELECT, The Locking Clause).
    target AS MATERIALIZED (
      SELECT user_id FROM users WHERE user_id = ANY($1::uuid[]) AND removed_at IS NULL
      ORDER BY user_id FOR KEY SHARE
    ),
    -- 2. The events for users who exist, and for devices that are theirs.
    found AS MATERIALIZED (
      SELECT n.*, e.event, e.data, e.device_id, e.ttl
      FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::boolean[])
        WITH ORDINALITY AS n (user_id, id, number_of_event, online, place)
      JOIN unnest($5::text[], $6::text[], $7::uuid[], $8::int[])
        WITH ORDINALITY AS e (event, data, device_id, ttl, number_of_event) USING (number_of_event)
      WHERE user_id IN (SELECT user_id FROM target) AND (device_id IS NULL
        OR EXISTS (SELECT FROM devices d WHERE d.user_id = n.user_id AND d.device_id = e.device_id))
    ),
    -- 3. Append those with a ttl (append.sql.ts). \`counter\` sorts its users, so it needs all locks of step 1.
    ${appending('SELECT user_id, id, event, data, device_id, ttl, place FROM found WHERE ttl > 0', '$9')}
    SELECT n.place::int, before + nth AS event_offset, now() AS sent_at, ${online('n.user_id')}
    FROM found AS n LEFT JOIN numbered USING (place)`),
};

/** Finds targets. `ANY($1)` leads Citus to the shard of users who share one. */
const FIND = `
    SELECT n.place::int, NULL AS event_offset, now() AS sent_at, ${online('u.user_id AND p.user_id = ANY($1)')}
    FROM unnest($1::uuid[], $2::uuid[], $3::boolean[])
      WITH ORDINALITY AS n (user_id, device_id, online, place)
    JOIN users u ON u.user_id = n.user_id AND u.user_id = ANY($1)
    WHERE removed_at IS NULL AND (n.device_id IS NULL
      OR EXISTS (SELECT FROM devices d WHERE d.user_id = u.user_id AND d.user_id = ANY($1) AND d.device_id = n.device_id))`;

/**
 * Finds the targets of a batch that stores nothing, without locks. Parameters: for each target user, device
 * (null: all), whether it is online on this instance.
 */
export const FIND_BATCH = { name: 'push-batch-targets', text: FIND };

/** FIND_BATCH with the locks of PUSH_BATCH, for Citus. */
export const LOCK_BATCH = { name: 'push-batch-lock', text: `${FIND} FOR KEY SHARE OF u` };

/** For Citus: the shard of each user. */
export const FIND_SHARDS = {
  name: 'push-batch-shards',
  text: `
    SELECT get_shard_id_for_distribution_column('users', user_id)::text AS shard
    FROM unnest($1::uuid[]) WITH ORDINALITY AS n (user_id, place) ORDER BY place`,
};

// For Citus: each is one task on the node of a shard, to which `users` leads. Locks are taken in one order.

/** Takes offsets. Parameters: users of a shard, and for each the number of events. */
export const COUNT = `
  INSERT INTO channels AS c (user_id, last_offset)
  SELECT u.user_id, n.number FROM unnest($1::uuid[], $2::int[]) AS n (user_id, number)
  JOIN users u ON u.user_id = n.user_id AND u.user_id = ANY($1) ORDER BY u.user_id
  ON CONFLICT (user_id) DO UPDATE SET last_offset = c.last_offset + excluded.last_offset
  RETURNING c.user_id, c.last_offset`;

/**
 * Stores events of a shard. Parameters: for each target user, offset, id, number of its event from 1; for
 * each event name, data as JSON, device (null: all), ttl; the time.
 */
export const STORE = `
  INSERT INTO channel_events AS c (user_id, event_offset, id, event, data, device_id, sent_at, expires_at)
  SELECT u.user_id, event_offset, id, event, data, device_id, $9::timestamptz,
    $9::timestamptz + make_interval(secs => ttl)
  FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::int[]) AS n (user_id, event_offset, id, number_of_event)
  JOIN users u ON u.user_id = n.user_id AND u.user_id = ANY($1)
  JOIN unnest($5::text[], $6::text[], $7::uuid[], $8::int[])
    WITH ORDINALITY AS e (event, data, device_id, ttl, number_of_event) USING (number_of_event)`;
